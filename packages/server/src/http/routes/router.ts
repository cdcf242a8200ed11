import type { IncomingMessage, ServerResponse } from 'node:http'

/** Answers the requests to one address with one method. @param query what follows the question mark */
export type Route = (
  request: IncomingMessage,
  response: ServerResponse,
  query: string,
) => Promise<void>

/** The routes of one address, by method. */
export type Methods = ReadonlyMap<string, Route>

/** A family of addresses. */
export interface RouteFamily {
  /** Fixed addresses. */
  readonly exact?: Iterable<readonly [path: string, method: string, route: Route]>
  /** Addresses below a prefix; `find` returns null for an unknown one. */
  readonly below?: { readonly prefix: string; find(path: string): Methods | null }
}

/** Finds the route of a request: exact addresses first, then the families below a prefix. */
export class Router {
  readonly #exact = new Map<string, Map<string, Route>>()
  readonly #below: NonNullable<RouteFamily['below']>[] = []

  constructor(families: readonly RouteFamily[]) {
    for (const { exact = [], below } of families) {
      for (const [path, method, route] of exact) this.#add(path, method, route)
      if (below) this.#below.push(below)
    }
  }

  /** @returns the routes of the address; null for an unknown address */
  find(path: string): Methods | null {
    const known = this.#exact.get(path)
    if (known) return known
    for (const { prefix, find } of this.#below) {
      const methods = path.startsWith(prefix) ? find(path) : null
      if (methods) return methods
    }
    return null
  }

  #add(path: string, method: string, route: Route): void {
    const methods = this.#exact.get(path) ?? new Map<string, Route>()
    if (methods.has(method)) throw new Error(`two routes for ${method} ${path}`)
    methods.set(method, route)
    this.#exact.set(path, methods)
  }
}

/** Returns one route for both methods that read. */
export function readingRoutes(path: string, route: Route): [string, string, Route][] {
  return [
    [path, 'GET', route],
    [path, 'HEAD', route],
  ]
}
