import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { pipeline } from 'node:stream'
import type { Connections } from '../bounds/connections.js'
import { bindToProgress } from '../deadlines.js'

export interface StreamedFile {
  /** Its head is written. */
  readonly response: ServerResponse
  readonly socket: Socket
  readonly body: AsyncIterable<Buffer>
  /** In bytes, as the head has announced it. */
  readonly length: number
  readonly connections: Pick<Connections, 'holding' | 'released'>
}

/**
 * Sends the content of an answer as fast as the client takes it. When it cannot be read to its end, the connection is destroyed, so that no
 * client takes a part for the whole.
 * @param ended is called once; with null when all was sent or the client has gone, which is no failure of the service
 */
export function streamFile(file: StreamedFile, ended: (error: Error | null) => void): void {
  bindToProgress(file.socket, file.response)
  pipeline(file.body, counted(file), file.response, (error) => {
    const isGone = error?.code === 'ERR_STREAM_PREMATURE_CLOSE'
    ended(error && !isGone ? error : null)
  })
}

/** Passes the chunks on, and fails when other than so many bytes have come: the client would wait for the rest, or take it for an answer. */
function counted({ length, socket, connections }: StreamedFile) {
  return async function* (chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void> {
    let passed = 0
    for await (const chunk of chunks) {
      passed += chunk.length
      if (passed > length) break
      // While this one waits to be taken, the next one is read.
      const held = 2 * chunk.length
      connections.holding(socket, held)
      try {
        // Goes on when the client has taken it.
        yield chunk
      } finally {
        connections.released(socket, held)
      }
    }
    if (passed !== length) throw new Error(`a file of ${length} bytes has others`)
  }
}
