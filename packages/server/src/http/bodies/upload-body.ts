import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { ArrivingBody, Bodies } from '../../edge/bodies.js'
import { JoinedStream } from '../../lib/system/joined-stream.js'
import { type BodyReading, receiveBody, tooManyBodies } from './receive-body.js'

/**
 * A request body as a stream, for a body that must not be in memory as a whole. Its memory, and
 * that of its reader, counts among the bodies that arrive. It fails as {@link receiveBody} does;
 * the request itself stays open for the answer.
 */
export class UploadBody {
  readonly stream = new JoinedStream(() => this.#changed())
  readonly #arriving: ArrivingBody
  readonly #body: BodyReading
  readonly #reading: SocketReading
  #heldByReader = 0
  /** Bytes that arrived before {@link onArrival}. */
  #early = 0
  #onArrival = (bytes: number) => {
    this.#early += bytes
  }

  /** @throws AppError body_too_large, malformed_request */
  constructor(
    request: IncomingMessage,
    maxBytes: number,
    private readonly bodies: Bodies,
  ) {
    const { stream } = this
    // The body may fail before it is read; a later read then rejects.
    stream.on('error', () => {})
    this.#reading = new SocketReading(request.socket)
    this.#body = receiveBody(request, maxBytes, {
      take: (part) => {
        this.#onArrival(part.length)
        this.#arriving.progress()
        stream.append(part)
      },
      end: () => stream.end(),
      fail: (error) => void stream.destroy(error),
    })
    const refuse = () => {
      bodies.end(this.#arriving)
      this.#body.fail(tooManyBodies())
    }
    this.#arriving = bodies.begin({ socket: request.socket, refuse })
  }

  /** @param arrived called with the number of bytes of each part */
  onArrival(arrived: (bytes: number) => void): void {
    this.#onArrival = arrived
    arrived(this.#early)
  }

  /** Takes the number of bytes that the reader of the stream holds. */
  readonly heldByReader = (bytes: number): void => {
    this.#heldByReader = bytes
    this.#changed()
  }

  /** The body is stored, or no longer needed. */
  end(): void {
    this.bodies.end(this.#arriving)
    this.#body.stop()
    this.stream.destroy()
  }

  #changed(): void {
    const { isFull, held, destroyed } = this.stream
    if (isFull && !destroyed) this.#reading.pause()
    else this.#reading.resume()
    this.#arriving.hold(held + this.#heldByReader)
  }
}

/**
 * Stops the reading of a socket. A paused request would keep each chunk that the parser finds in
 * the bytes already read, and a chunk of one byte takes hundreds of bytes; so the request flows on
 * while its socket pauses.
 */
class SocketReading {
  #isPaused = false
  /** Node resumes the socket of a request that flows. */
  readonly #pauseAgain = () => this.socket.pause()

  constructor(private readonly socket: Socket) {}

  pause(): void {
    if (this.#isPaused) return
    this.#isPaused = true
    this.socket.on('resume', this.#pauseAgain)
    this.socket.pause()
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.socket.off('resume', this.#pauseAgain)
    this.socket.resume()
  }
}
