/**
 * Calls servers with the outbound client, inside a network and mount namespace that the test made.
 * Its only argument is JSON: the addresses of the loopback interface, the names of the hosts file, and
 * the calls. It prints the outcome of each call, and the connections of each address, as JSON.
 */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { parseAddressRange } from '../../../dist/lib/outbound/address.js'
import { OutboundClient } from '../../../dist/lib/outbound/outbound-client.js'

const { hostsFile, addresses, names, redirect, allowed, urls } = JSON.parse(process.argv[2])
const run = (program, ...args) => execFileSync(program, args)

run('ip', 'link', 'set', 'lo', 'up')
for (const address of addresses)
  if (!['127.0.0.1', '::1'].includes(address)) run('ip', 'addr', 'add', address, 'dev', 'lo')
const lines = Object.entries(names).flatMap(([name, list]) =>
  list.map((each) => `${each} ${name}\n`),
)
writeFileSync(hostsFile, ['127.0.0.1 localhost\n', ...lines].join(''))
run('mount', '--bind', hostsFile, '/etc/hosts')

const connections = {}
for (const address of addresses) {
  connections[address] = 0
  const server = createServer((request, response) => {
    request.resume()
    if (request.url === '/redirect') response.writeHead(307, { location: redirect })
    response.end()
  })
  server.on('connection', () => connections[address]++)
  server.listen(80, address)
  await once(server, 'listening')
}

const client = new OutboundClient({
  allowed: allowed.map(parseAddressRange),
  setting: 'HERMOD_OUTBOUND_ALLOW',
  proxy: null,
  lookUpShares: { run: (_, work) => work() },
})
const outcomes = {}
for (const url of urls)
  outcomes[url] = await client
    .post({ url, headers: {}, body: '{}', timeoutMs: 5_000, share: '' })
    .then(
      ({ status }) => String(status),
      ({ name, message }) => (name === 'ForbiddenAddressError' ? 'refused' : message),
    )
process.stdout.write(`${JSON.stringify({ outcomes, connections })}\n`)
process.exit()
