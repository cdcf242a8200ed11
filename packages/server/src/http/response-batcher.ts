import type { ServerResponse } from 'node:http'

interface Outgoing {
  readonly response: ServerResponse
  readonly status: number
  readonly headers: string[]
  readonly body: string | Buffer
}

/**
 * Writes the answers of one turn of the event loop together at its end. A write wakes the client that waits for it, which costs many times the
 * write itself when there is a pause before every one of them; in a row they find the other side awake.
 */
export class ResponseBatcher {
  #waiting: Outgoing[] = []

  write(response: ServerResponse, status: number, headers: string[], body: string | Buffer): void {
    if (this.#waiting.push({ response, status, headers, body }) === 1)
      setImmediate(() => this.#flush())
  }

  #flush(): void {
    const ready = this.#waiting
    this.#waiting = []
    for (const { response, status, headers, body } of ready) {
      response.writeHead(status, headers)
      response.end(body)
    }
  }
}
