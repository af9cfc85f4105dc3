"""`make run-distributed`: web processes behind nginx, actor hosts, PostgreSQL and Redis, as one whole.

It is the production arrangement for one machine without configuration: to try it, and to test it.
"""
