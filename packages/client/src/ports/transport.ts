/** The close of a connection: code 1006 when it was cut or could not be opened. */
export interface ConnectionEnd {
  readonly code: number
  readonly reason: string
}

/** Calls for a connection. None is called after `end`, and `end` once. */
export interface ConnectionListener {
  /** The handshake is done; frames may be sent. */
  open(): void
  /** A text frame arrived. */
  frame(text: string): void
  end(end: ConnectionEnd): void
}

/** One WebSocket. After `abandon` its listener hears nothing more. */
export interface Connection {
  send(text: string): void
  /** Closes without waiting for the answer of the peer. */
  abandon(code?: number): void
}

/** Opens connections with the subprotocol of the gateway. */
export type Connect = (url: string, listener: ConnectionListener) => Connection

/** An upload in progress. */
export interface UploadRequest {
  /** Address, method and form fields of the ticket. */
  readonly url: string
  readonly method: string
  readonly fields: Readonly<Record<string, string>>
  readonly blob: Blob
  readonly fileName: string
  /** Called with bytes sent so far. */
  readonly onProgress: (sentBytes: number) => void
  readonly signal: AbortSignal
}

/** The answer to an upload: the HTTP status and the body. */
export interface UploadAnswer {
  readonly status: number
  readonly body: string
}

/** Uploads a file; rejects when no answer comes. */
export type Upload = (request: UploadRequest) => Promise<UploadAnswer>

/** Signs of life from outside the connection: the network is back, the page is shown again. */
export interface Wakeups {
  /** @returns ends the listening */
  listen(listener: () => void): () => void
}
