import type { IncomingMessage } from 'node:http'
import type { ArrivingBody, Bodies } from '../../edge/bodies.js'
import { JoinedBytes } from '../../lib/system/joined-bytes.js'
import { announcedBytes, receiveBody, tooManyBodies } from './receive-body.js'

/**
 * Reads a request body into memory, within the bound of all bodies that are arriving.
 * @throws AppError as {@link receiveBody}; unavailable when bodies take too much memory
 */
export function readBody(
  request: IncomingMessage,
  maxBytes: number,
  bodies: Bodies,
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const announced = announcedBytes(request)
    const joined = new JoinedBytes(announced || maxBytes)
    // Nearly every body arrives as a whole, which is in memory for a moment only and needs no copy.
    let whole: Buffer | null = null
    let arriving: ArrivingBody | null = null
    const end = () => {
      if (arriving) bodies.end(arriving)
    }
    const reading = receiveBody(request, maxBytes, {
      take(part) {
        const isFirst = whole === null && joined.length === 0
        if (isFirst && (request.complete || part.length === announced)) {
          whole = part
          return
        }
        if (whole) joined.append(whole)
        whole = null
        joined.append(part)
        if (request.complete) return
        arriving ??= bodies.begin({
          socket: request.socket,
          refuse: () => reading.fail(tooManyBodies()),
        })
        arriving.progress()
        arriving.hold(joined.retained)
      },
      end() {
        end()
        resolve(whole ?? joined.bytes)
      },
      fail(error) {
        end()
        // The listeners of the request live until it is answered, and would keep the bytes.
        joined.take()
        reject(error)
      },
    })
  })
}
