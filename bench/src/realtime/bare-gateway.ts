/**
 * The baseline: a bare server of `ws` without compression. It makes one buffer, which it receives
 * over IPC as a text, and writes it to every client, as often as a client asks for. Other frames
 * come back to their client.
 */
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'

process.once('message', ({ body }: { readonly body: string }) => {
  const buffer = Buffer.from(body)
  const server = new WebSocketServer({
    host: '127.0.0.1',
    port: 0,
    perMessageDeflate: false,
    backlog: 4_096,
  })
  server.on('connection', (client) => {
    client.on('error', () => {})
    client.on('message', (data) => {
      const text = String(data)
      const { broadcast } = JSON.parse(text) as { broadcast?: number }
      if (broadcast === undefined) {
        client.send(text)
        return
      }
      for (let message = 0; message < broadcast; message++)
        for (const each of server.clients) each.send(buffer)
    })
  })
  server.on('listening', () => process.send?.({ port: (server.address() as AddressInfo).port }))
})

// The parent process has ended.
process.once('disconnect', () => process.exit())
