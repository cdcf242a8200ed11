import { spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { PostgresCluster } from '@hermod/testkit'

if (spawnSync('haproxy', ['-v']).status !== 0) {
  console.error('HAProxy is missing, for example: apt-get install haproxy')
  process.exit(1)
}

const basePort = Number(process.env.CLUSTER_PORT ?? 8080)
const hermod = resolve(import.meta.dirname, '../../packages/server/bin/hermod.js')
const folder = mkdtempSync(join(tmpdir(), 'hermod-cluster-'))
const adminToken = `hma_${randomBytes(24).toString('hex')}`
const operatorToken = `hmo_${randomBytes(24).toString('hex')}`
const postgres = process.env.HERMOD_DATABASE_URL ? null : await PostgresCluster.start()
const databaseUrl = process.env.HERMOD_DATABASE_URL ?? (await postgres.createDatabase()).url

// Each node has a data folder and a port of its own, and everything else in common.
const nodes = [1, 2, 3].map((number) => ({
  name: `node-${number}`,
  port: basePort + number,
  process: null,
}))
const common = {
  HERMOD_DATABASE_URL: databaseUrl,
  HERMOD_SECRET_KEY: randomBytes(32).toString('hex'),
  HERMOD_BOOTSTRAP_ADMIN_TOKEN: adminToken,
  HERMOD_OPERATOR_TOKEN: operatorToken,
  HERMOD_PUBLIC_URL: `http://127.0.0.1:${basePort}`,
  HERMOD_TRUST_PROXY: '127.0.0.1',
  HERMOD_HOST: '127.0.0.1',
  HERMOD_FILES_DIR: join(folder, 'files'),
  HERMOD_FILES_SHARED: 'on',
  HERMOD_LOG_LEVEL: 'error',
}

const haproxyConfig = `
defaults
  mode http
  timeout connect 2s
  timeout client 75s
  timeout server 75s
  option redispatch 1

frontend hermod
  bind 127.0.0.1:${basePort}
  option forwardfor
  default_backend nodes

backend nodes
  balance leastconn
  option httpchk GET /readyz
  http-check expect status 200
  default-server check inter 500ms fall 2 rise 1 on-marked-down shutdown-sessions
${nodes.map(({ name, port }) => `  server ${name} 127.0.0.1:${port}`).join('\n')}
`

function startNode(node) {
  const dataDir = join(folder, node.name)
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const env = {
    ...process.env,
    ...common,
    HERMOD_PORT: String(node.port),
    HERMOD_DATA_DIR: dataDir,
  }
  node.process = spawn(process.execPath, [hermod, 'serve'], { env, stdio: 'inherit' })
  node.process.once('exit', (code, signal) => {
    node.process = null
    if (isStopping) return
    console.log(`${node.name} has ended (${signal ?? `exit code ${code}`})`)
    if (!isStarted) void stop(1)
  })
}

async function isReady(port) {
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null)
  return answer?.status === 200
}

async function stop(code = 0) {
  if (isStopping) return
  isStopping = true
  balancer?.kill()
  const running = nodes.flatMap(({ process: child }) => child ?? [])
  for (const child of running) child.kill('SIGTERM')
  await Promise.all(running.map((child) => child.exitCode ?? once(child, 'exit')))
  await postgres?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
  process.exit(code)
}

async function untilReady(port) {
  while (!(await isReady(port))) await sleep(100)
}

const commands = {
  kill: (node) => node.process?.kill('SIGKILL'),
  stop: (node) => node.process?.kill('SIGTERM'),
  start: (node) => node.process ?? startNode(node),
  async nodes() {
    for (const { name, port } of nodes)
      console.log(`${name}  http://127.0.0.1:${port}  ${(await isReady(port)) ? 'ready' : 'away'}`)
  },
}

let balancer = null
let isStarted = false
let isStopping = false
for (const signal of ['SIGINT', 'SIGTERM']) {
  // The listener of PostgresCluster would end it before the nodes.
  process.removeAllListeners(signal)
  process.on(signal, () => void stop())
}
mkdirSync(common.HERMOD_FILES_DIR, { mode: 0o700 })
for (const node of nodes) startNode(node)
for (const { port } of nodes) await untilReady(port)
const config = join(folder, 'haproxy.cfg')
writeFileSync(config, haproxyConfig)
balancer = spawn('haproxy', ['-f', config], { stdio: 'inherit' })
balancer.once('exit', () => void stop(1))
await untilReady(basePort)
isStarted = true

const url = `http://127.0.0.1:${basePort}`
console.log(`Hermod with three nodes: ${url}
application hermod, Admin token ${adminToken}
the nodes as an operator sees them, in the checkout:
  HERMOD_OPERATOR_TOKEN=${operatorToken} npx hermod nodes list --url ${url}
commands: nodes; kill 2 (SIGKILL), stop 2 (SIGTERM), start 2; Ctrl-C ends everything`)
for await (const line of createInterface({ input: process.stdin })) {
  const [name, number] = line.trim().split(/\s+/)
  const node = nodes[Number(number) - 1]
  const isKnown = Object.hasOwn(commands, name) && (name === 'nodes' || node)
  if (isKnown) await commands[name](node)
  else if (name) console.log('unknown: write for example kill 2')
}
