/**
 * An attacker in a process of its own, so that what it does takes no time from the honest caller in
 * the test. Its only argument is the path of a JSON file, see `attack.ts`. It connects some
 * connections at a time, writes to each, and says a line for each answer: its status; or `closed`.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

const { host, port, localAddress, connections } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const atOnce = 100
/** The interval of single bytes; long enough for the service to read each of them alone. */
const singleMs = 10
const filler = Buffer.alloc(65_536, 'x')

async function attack({ first, times, fillerBytes, last, reads, singleBytes }) {
  const socket = createConnection({ host, port, localAddress, noDelay: true })
  socket.on('error', () => {})
  socket.once('close', () => console.log('closed'))
  if (reads) socket.once('data', (head) => console.log(head.toString('latin1').split(' ')[1]))
  else socket.pause()
  await Promise.race([once(socket, 'connect'), once(socket, 'close')])
  void write(socket, {
    bytes: Buffer.from(first.repeat(times), 'latin1'),
    fillerBytes,
    last,
    singleBytes,
  })
}

/** As fast as the service reads. */
async function write(socket, { bytes, fillerBytes, last, singleBytes }) {
  socket.write(bytes)
  for (let left = fillerBytes; left > 0 && !socket.destroyed; left -= filler.length)
    if (!socket.write(left < filler.length ? filler.subarray(0, left) : filler))
      await Promise.race([once(socket, 'drain'), once(socket, 'close')])
  socket.write(last)
  for (let left = singleBytes; left > 0 && !socket.destroyed; left--) {
    await pause(singleMs)
    socket.write('x')
  }
}

for (let at = 0; at < connections.length; at += atOnce)
  await Promise.all(connections.slice(at, at + atOnce).map(attack))
console.log('connected')
// It goes on until it is killed.
setInterval(() => {}, 1_000)
