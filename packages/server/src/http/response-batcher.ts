import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Connections } from '../edge/connections.js'
import { whenDiscarded } from './bodies/discard-body.js'

interface Outgoing {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly status: number
  readonly headers: string[]
  readonly body: string | Buffer
  /** The approximate size of the whole answer. */
  readonly bytes: number
}

/**
 * Writes the answers of one turn of the event loop together at its end. A write wakes the client
 * that waits for it, which costs many times the write itself when there is a pause before every one
 * of them; in a row they find the other side awake.
 */
export class ResponseBatcher {
  #waiting: Outgoing[] = []

  constructor(private readonly connections: Pick<Connections, 'answered' | 'hold' | 'release'>) {}

  write(outgoing: Outgoing): void {
    if (this.#waiting.push(outgoing) === 1) setImmediate(() => this.#flush())
  }

  #flush(): void {
    const ready = this.#waiting
    this.#waiting = []
    for (const { request, response, status, headers, body, bytes } of ready) {
      response.writeHead(status, headers)
      if (request.complete) {
        response.end(body)
        this.#answered(request.socket, response, bytes)
      } else this.#answerEarly({ request, response, body, bytes })
    }
  }

  /**
   * Answers a request before its body has arrived. The end of the answer waits for that, since it
   * may close the connection.
   */
  #answerEarly({
    request,
    response,
    body,
    bytes,
  }: Pick<Outgoing, 'request' | 'response' | 'body' | 'bytes'>): void {
    response.flushHeaders()
    // The connection is idle from then on, so it makes room for others when connections are short.
    response.write(body, this.#hold(request.socket, bytes))
    whenDiscarded(request, () => response.end())
  }

  #answered(socket: IncomingMessage['socket'], response: ServerResponse, bytes: number): void {
    // Nearly always the whole answer is out by now.
    if (response.socket !== null && socket.writableLength === 0) {
      this.connections.answered(socket)
      return
    }
    response.once('finish', this.#hold(socket, bytes))
  }

  /** Counts an answer in memory. @returns ends that, when the answer is out */
  #hold(socket: IncomingMessage['socket'], bytes: number): () => void {
    this.connections.hold(socket, bytes)
    return () => {
      this.connections.release(socket, bytes)
      this.connections.answered(socket)
    }
  }
}
