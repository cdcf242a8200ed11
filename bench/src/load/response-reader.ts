const contentLength = /\r\ncontent-length: *(\d+)/i
const closing = /\r\nconnection: *close/i
const headBytesMax = 4096
const nothing = Buffer.alloc(0)

/**
 * Reads the single pending answer of a connection, with as little work per answer as the checks
 * allow.
 */
export class ResponseReader {
  #rest: Buffer = nothing
  #status = 0
  #head = ''
  #body: Buffer = nothing

  /**
   * @param chunk may be overwritten after the call, and the body of a finished answer with it
   * @returns true when the answer is complete; the next chunk then starts another one
   * @throws Error for an answer that is not HTTP/1.1 with a Content-Length
   */
  feed(chunk: Buffer): boolean {
    const data = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    const start = data.toString('latin1', 0, headBytesMax)
    const headEnd = start.indexOf('\r\n\r\n')
    if (headEnd < 0) {
      if (data.length >= headBytesMax) throw new Error('the head of the answer is too long')
      return this.#keep(data)
    }
    this.#head = start.slice(0, headEnd)
    const bodyStart = headEnd + 4
    const bodyEnd = bodyStart + this.#bodyLength()
    if (data.length < bodyEnd) return this.#keep(data)
    if (data.length > bodyEnd)
      throw new Error('more bytes than the answer has by its Content-Length')
    this.#status = Number(this.#head.slice(9, 12))
    this.#body = data.subarray(bodyStart, bodyEnd)
    this.#rest = nothing
    return true
  }

  get status(): number {
    return this.#status
  }

  /** Valid until the next chunk. */
  get body(): Buffer {
    return this.#body
  }

  /** The server closes the connection after this answer. */
  get closes(): boolean {
    return closing.test(this.#head)
  }

  /** HTTP 200 and the envelope's code 200. */
  get succeeded(): boolean {
    return this.#status === 200 && hasCode200(this.#body)
  }

  #bodyLength(): number {
    if (!this.#head.startsWith('HTTP/1.1 '))
      throw new Error(`no HTTP/1.1 answer: ${this.#head.slice(0, 100)}`)
    const length = contentLength.exec(this.#head)?.[1]
    if (length === undefined)
      throw new Error(
        `an answer without Content-Length (chunked is not supported): ${this.#head.slice(0, 300)}`,
      )
    return Number(length)
  }

  #keep(data: Buffer): false {
    this.#rest = Buffer.from(data)
    return false
  }
}

const usualStart = '{"code":200,'

/** Finds the member anywhere; inside a string its quotes would be escaped. */
function hasCode200(body: Buffer): boolean {
  return (
    body.toString('latin1', 0, usualStart.length) === usualStart ||
    /"code":200[,}]/.test(body.toString('latin1'))
  )
}
