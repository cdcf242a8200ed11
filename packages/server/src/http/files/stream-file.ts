import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import type { Connections } from '../../edge/connections.js'
import { bindToProgress } from '../../edge/deadlines.js'
import { FileReads } from '../../lib/system/file-reads.js'

interface StreamedFile {
  /** The response; its head is written. */
  readonly response: ServerResponse
  readonly socket: Socket
  readonly body: AsyncIterable<Buffer>
  /** Bytes of the body, as the head announces them. */
  readonly length: number
  readonly connections: Pick<Connections, 'hold' | 'release'>
}

/**
 * Sends the content of an answer as fast as the client takes it. When the content cannot be read to
 * its end, or has not the announced length, the connection is destroyed, so that no client takes a
 * part for the whole.
 * @param ended called once with the bytes that were sent; the error is null when all was sent or
 * the client has gone, which is no failure
 *   of the service
 */
export function streamFile(
  file: StreamedFile,
  ended: (error: Error | null, bytes: number) => void,
): void {
  bindToProgress(file.socket, file.response)
  new FileStreaming(file, ended).start()
}

/** Written without `pipeline`, which does not report when a chunk was taken. */
class FileStreaming {
  readonly #body: Readable
  #sent = 0
  /** Bytes in memory that wait for the client. */
  #held = 0
  #isOver = false

  constructor(
    private readonly file: StreamedFile,
    private readonly ended: (error: Error | null, bytes: number) => void,
  ) {
    const { body } = file
    this.#body = body instanceof Readable ? body : Readable.from(body, { objectMode: false })
  }

  start(): void {
    const { response } = this.file
    response.on('drain', () => this.#resume())
    response.once('close', () => this.#end(null))
    response.on('error', () => this.#end(null))
    this.#body
      .on('data', (chunk: Buffer) => this.#send(chunk))
      .on('end', () => this.#finish())
      .on('error', (error) => this.#end(error))
      .on('close', () => {
        if (!this.#body.readableEnded) this.#end(this.#otherLength())
      })
    if (response.destroyed) this.#end(null)
  }

  #send(chunk: Buffer): void {
    this.#sent += chunk.length
    if (this.#sent > this.file.length) this.#end(this.#otherLength())
    else if (!this.#write(chunk)) this.#hold(chunk.length)
  }

  /** @returns false when the client has not taken all of it */
  #write(chunk: Buffer): boolean {
    const { response } = this.file
    const body = this.#body
    if (!(body instanceof FileReads)) return response.write(chunk)
    return response.write(chunk, (error) => {
      if (!error) body.recycle(chunk)
    })
  }

  /** Pauses reading. While a chunk waits for the client, the next one is already read. */
  #hold(bytes: number): void {
    this.#body.pause()
    this.#held = 2 * bytes
    this.file.connections.hold(this.file.socket, this.#held)
  }

  #resume(): void {
    this.#release()
    this.#body.resume()
  }

  #release(): void {
    if (this.#held > 0) this.file.connections.release(this.file.socket, this.#held)
    this.#held = 0
  }

  #finish(): void {
    if (this.#sent < this.file.length) this.#end(this.#otherLength())
    else this.file.response.end(() => this.#end(null))
  }

  #otherLength(): Error {
    return new Error(`a file of ${this.file.length} bytes has others`)
  }

  #end(error: Error | null): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#release()
    this.#body.destroy()
    if (error) this.file.response.destroy()
    this.ended(error, this.#sent)
  }
}
