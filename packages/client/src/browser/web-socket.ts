import type { Connect } from '../ports/transport.js'
import { gatewayProtocol } from '../runtime/sdk.js'

/** Opens connections with the WebSocket of the browser. */
export const connectWebSocket: Connect = (url, listener) => {
  const socket = new WebSocket(url, gatewayProtocol)
  socket.onopen = () => listener.open()
  // A frame of bytes is none of this protocol: the text is no JSON, so the client connects anew.
  socket.onmessage = ({ data }) => listener.frame(typeof data === 'string' ? data : '')
  socket.onclose = ({ code, reason }) => {
    silence()
    listener.end({ code, reason })
  }
  function silence(): void {
    socket.onopen = socket.onmessage = socket.onclose = null
  }
  return {
    send(text) {
      if (socket.readyState === WebSocket.OPEN) socket.send(text)
    },
    abandon(code) {
      silence()
      socket.close(code)
    },
  }
}
