/** A process that stores and reads a large blob, and says how much memory that took beyond a small one. */
import { Readable } from 'node:stream'

const { module, name, options, bytes } = JSON.parse(process.argv[2] ?? '')
const { [name]: Store } = await import(module)
const store = await Store.open(options)
let peak = 0

function* content(size) {
  for (let left = size; left > 0; left -= 65_536) {
    yield Buffer.alloc(Math.min(left, 65_536), left % 251)
    look()
  }
}

function look() {
  peak = Math.max(peak, process.memoryUsage.rss())
}

async function move(size) {
  const body = Readable.from(content(size), { objectMode: false })
  const contentType = 'application/octet-stream'
  const expected = await store.put('app/ab/large', body, { contentType, maxBytes: size })
  let read = 0
  for await (const chunk of await store.open('app/ab/large', { expected })) {
    read += chunk.length
    look()
  }
  return read
}

await move(1024 * 1024)
globalThis.gc?.()
const idle = process.memoryUsage.rss()
const read = await move(bytes)
process.stdout.write(`${JSON.stringify({ read, grown: peak - idle })}\n`)
process.exit(0)
