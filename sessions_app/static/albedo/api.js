// Requests to the API with the page's session and CSRF token. Errors carry the server's stable `code`.

export class ApiError extends Error {
  constructor(status, code, detail) {
    super(detail);
    this.status = status;
    this.code = code;
  }
}

const csrf = () => document.body.dataset.csrf ?? "";

async function failure(response) {
  let problem = {};
  try {
    problem = await response.json();
  } catch {
    // Not every refusal comes from the API: a proxy's or the CSRF page's answer is no JSON.
  }
  const fallback = `The server answered ${response.status}.`;
  return new ApiError(response.status, problem.code ?? "http_error", problem.detail || problem.title || fallback);
}

export async function request(method, path, body) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["X-CSRFToken"] = csrf();
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      credentials: "same-origin",
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new ApiError(0, "unreachable", "The server cannot be reached.");
  }
  if (!response.ok) throw await failure(response);
  return response.status === 204 ? null : response.json();
}

export const get = (path) => request("GET", path);
export const post = (path, body) => request("POST", path, body ?? {});
export const put = (path, body) => request("PUT", path, body);
export const patch = (path, body) => request("PATCH", path, body);
