/**
 * The baseline: a bare node:http server that reads the request's body and answers with a fixed
 * body, received over IPC.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

process.once('message', ({ body }: { readonly body: string }) => {
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      Buffer.concat(chunks).toString()
      response.writeHead(200, headers)
      response.end(body)
    })
  })
  server.listen(0, '127.0.0.1', () =>
    process.send?.({ port: (server.address() as AddressInfo).port }),
  )
})

// The parent process has ended.
process.once('disconnect', () => process.exit())
