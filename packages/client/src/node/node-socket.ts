import { WebSocket } from 'ws'
import type { Connect } from '../ports/transport.js'
import { gatewayProtocol } from '../runtime/sdk.js'

/** The longest frame that is taken from the server, in bytes; its pages have at most 256 KiB. */
const maxPayload = 16 * 1024 * 1024
/** Time for the close frame of the peer. */
const closeLimitMs = 1_000

/** Opens connections with the library `ws`. */
export const connectNodeSocket: Connect = (url, listener) => {
  const socket = new WebSocket(url, gatewayProtocol, { perMessageDeflate: false, maxPayload })
  let failure = ''
  socket.on('open', () => listener.open())
  socket.on('message', (data, isBinary) => listener.frame(isBinary ? '' : String(data)))
  // An error is followed by the close.
  socket.on('error', ({ message }) => {
    failure = message
  })
  socket.on('close', (code, reason) => listener.end({ code, reason: String(reason) || failure }))
  return {
    send(text) {
      if (socket.readyState === WebSocket.OPEN) socket.send(text)
    },
    abandon(code) {
      for (const kind of ['open', 'message', 'close'] as const) socket.removeAllListeners(kind)
      if (code === undefined || socket.readyState !== WebSocket.OPEN) socket.terminate()
      else {
        socket.close(code)
        setTimeout(() => socket.terminate(), closeLimitMs).unref()
      }
    },
  }
}
