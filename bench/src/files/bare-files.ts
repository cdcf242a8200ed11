/**
 * The baseline: a bare node:http server that writes each upload to a new file and reads files. It
 * writes a file under another name, syncs and renames it, and syncs its folder, one of as many as
 * the service has. It receives the root folder over IPC.
 */
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdir, open, readFile, rename, stat } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

/** Maximum size of a file that is read in one piece. */
const smallBytes = 65_536
const folders = 1024
const stored = '{"code":200,"data":true,"message":null}'
let uploads = 0

process.once('message', async ({ folder }: { readonly folder: string }) => {
  for (let index = 0; index < folders; index++) await mkdir(join(folder, String(index)))
  const server = createServer((request, response) => {
    const { method, url = '' } = request
    const path = pathOf(folder, url.slice(1))
    const work = method === 'POST' ? take(request, response, path) : give(response, path)
    work.catch((error) => response.destroy(error))
  })
  server.listen(0, '127.0.0.1', () =>
    process.send?.({ port: (server.address() as AddressInfo).port }),
  )
})

// The parent process has ended.
process.once('disconnect', () => process.exit())

/** @param name ends with a number */
function pathOf(folder: string, name: string): string {
  return join(folder, String(Number(/\d+$/.exec(name)?.[0]) % folders), name)
}

async function take(
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): Promise<void> {
  const incoming = `${path}.${++uploads}`
  const file = createWriteStream(incoming, { flush: true })
  await pipeline(request, file)
  await rename(incoming, path)
  const folder = await open(join(path, '..'))
  await folder.sync()
  await folder.close()
  const headers = { 'content-type': 'application/json', 'content-length': stored.length }
  response.writeHead(200, headers).end(stored)
}

async function give(response: ServerResponse, path: string): Promise<void> {
  const { size } = await stat(path)
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': size })
  if (size <= smallBytes) response.end(await readFile(path))
  else await pipeline(createReadStream(path), response)
}
