/** Proxies of Debian with the configurations of deploy/proxies, in front of nodes on loopback. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2'
import { type AddressInfo, createServer, connect as dial, type Server, type Socket } from 'node:net'
import { join, resolve } from 'node:path'
import { connect, type TLSSocket } from 'node:tls'
import { Child, freePort, TempFolder, waitFor } from '@hermod/testkit'

export type ProxyName = 'caddy' | 'haproxy' | 'nginx'

const configurations = resolve(import.meta.dirname, '../../../../deploy/proxies')
const files: Readonly<Record<ProxyName, string>> = {
  caddy: 'Caddyfile',
  haproxy: 'haproxy.cfg',
  nginx: 'nginx.conf',
}
const paths: Readonly<Record<ProxyName, string>> = {
  caddy: process.env.HERMOD_TEST_CADDY ?? '/usr/bin/caddy',
  haproxy: '/usr/sbin/haproxy',
  nginx: '/usr/sbin/nginx',
}

/** Reports that the program, or the one that makes its certificate, is missing; null: it is there. */
export function proxyProblem(name: ProxyName): string | null {
  const versions = [
    [paths[name], name === 'caddy' ? 'version' : '-v'],
    ['/usr/bin/openssl', 'version'],
  ] as const
  for (const [program, option] of versions)
    if (spawnSync(program, [option]).status !== 0) return `${program} is missing`
  return null
}

interface Addresses {
  readonly port: number
  /** The ports of two nodes. */
  readonly nodes: readonly number[]
  readonly certificate: string
}

/** The first options of Caddy, which versions up to 2.11.4 do not know. */
const newOptions = /^\{\n(\tservers \{\n[\s\S]*?)^\}\n/m

/** The options that a test needs, before those that the program knows. */
const caddyOptions = (given: string) =>
  `{\n\tadmin off\n\tauto_https off\n${knows(given) ? given : ''}}\n`

/** Asks the program itself, since builds from source do not know their version. */
function knows(options: string): boolean {
  const args = ['adapt', '--adapter', 'caddyfile', '--config', '-']
  return spawnSync(paths.caddy, args, { input: `{\n${options}}\n` }).status === 0
}

type Replacement = readonly [string | RegExp, string | ((all: string, part: string) => string)]

/**
 * The configuration with its second node, the addresses and paths of this machine, and nothing else
 * changed.
 */
export function configOf(name: ProxyName, { port, nodes, certificate }: Addresses): string {
  const [first, second] = nodes.map((node) => `127.0.0.1:${node}`)
  const own: Readonly<Record<ProxyName, readonly Replacement[]>> = {
    caddy: [
      [newOptions, (_, given) => caddyOptions(given)],
      ['10.0.0.12:8080', ''],
      [/127\.0\.0\.1:8080 /, `${first} ${second} `],
      [
        /^chat\.example\.org \{/m,
        `:${port} {\n\tbind 127.0.0.1\n\ttls ${certificate} ${certificate}`,
      ],
    ],
    haproxy: [
      ['# server', 'server'],
      ['127.0.0.1:8080', `${first}`],
      ['10.0.0.12:8080', `${second}`],
      ['/etc/haproxy/chat.example.org.pem', certificate],
      ['bind :443', `bind 127.0.0.1:${port}`],
    ],
    nginx: [
      ['# server', 'server'],
      ['127.0.0.1:8080', `${first}`],
      ['10.0.0.12:8080', `${second}`],
      ['/etc/nginx/chat.example.org.pem', certificate],
      ['listen 443', `listen 127.0.0.1:${port}`],
    ],
  }
  let text = readFileSync(join(configurations, files[name]), 'utf8')
  for (const [from, to] of own[name]) {
    const before = text
    const by = typeof to === 'string' ? () => to : to
    text = typeof from === 'string' ? text.replaceAll(from, by) : text.replace(from, by)
    if (text === before) throw new Error(`${files[name]} has no ${from}`)
  }
  return text
}

/** The address of clients, which is not that of the proxy. */
export const clientAddress = '127.0.0.2'

/** A proxy that ends TLS, and a caller of it without TLS at `url`. */
export class DeployedProxy implements AsyncDisposable {
  readonly url: string
  readonly #port: number
  readonly #name: ProxyName
  readonly #folder: TempFolder
  readonly #child: Child
  readonly #callers: Server
  readonly #sockets: Set<Socket>
  readonly #config: string

  private constructor(
    name: ProxyName,
    {
      port,
      folder,
      child,
      callers,
      sockets,
      config,
    }: {
      port: number
      folder: TempFolder
      child: Child
      callers: Server
      sockets: Set<Socket>
      config: string
    },
  ) {
    this.#port = port
    this.#name = name
    this.#folder = folder
    this.#child = child
    this.#callers = callers
    this.#sockets = sockets
    this.#config = config
    this.url = `http://127.0.0.1:${(callers.address() as AddressInfo).port}`
  }

  /** @param nodes the ports of two nodes */
  static async start(name: ProxyName, nodes: readonly number[]): Promise<DeployedProxy> {
    const folder = new TempFolder(name)
    const certificate = join(folder.path, 'certificate.pem')
    makeCertificate(certificate)
    const port = await freePort()
    const config = configOf(name, { port, nodes, certificate })
    const child = run(name, folder.path, config)
    const sockets = new Set<Socket>()
    const callers = createServer((socket) => {
      const secure = dialSecure(port, 'http/1.1')
      for (const [from, to] of [
        [socket, secure],
        [secure, socket],
      ] as const) {
        sockets.add(from)
        from.on('error', () => to.destroy())
        from.on('close', () => {
          sockets.delete(from)
          to.destroy()
        })
        from.pipe(to)
      }
    })
    await new Promise<void>((resolve) => callers.listen(0, '127.0.0.1', resolve))
    const proxy = new DeployedProxy(name, { port, folder, child, callers, sockets, config })
    await waitFor(
      async () => {
        if (child.exit !== null) throw new Error(`${name} ended: ${child.output()}`)
        const answer = await fetch(`${proxy.url}/readyz`).catch(() => null)
        return answer?.status === 200
      },
      { what: `${name} to serve`, timeoutMs: 15_000, everyMs: 50 },
    )
    return proxy
  }

  /** Takes a node out by hand, as the guide says for nginx. The others ask its health themselves. */
  async setDown(port: number, isDown: boolean): Promise<void> {
    if (this.#name !== 'nginx') return
    const server = `server 127.0.0.1:${port} `
    const config = isDown ? this.#config.replace(server, `${server}down `) : this.#config
    writeFileSync(join(this.#folder.path, 'hermod.conf'), config)
    const { status, stderr } = spawnSync(paths.nginx, [
      ...nginxArgs(this.#folder.path),
      '-s',
      'reload',
    ])
    if (status !== 0) throw new Error(`nginx did not reload: ${stderr}`)
    await waitFor(() => this.#child.output().split('reconfiguring').length > this.#reloads + 1, {
      what: 'nginx to reload',
      timeoutMs: 10_000,
    })
    this.#reloads++
  }

  #reloads = 0

  /** Connects a client of HTTP/2. */
  connectHttp2(): ClientHttp2Session {
    const createConnection = () => dialSecure(this.#port, 'h2')
    return connectHttp2(`https://127.0.0.1:${this.#port}`, { createConnection })
  }

  output(): string {
    return this.#child.output()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#callers.close()
    for (const socket of this.#sockets) socket.destroy()
    this.#child.killTree()
    await this.#child.exited
    this.#folder[Symbol.dispose]()
  }
}

/** A connection of a client, for `http/1.1` or `h2`. */
function dialSecure(port: number, protocol: string): TLSSocket {
  return connect({
    socket: dial({ host: '127.0.0.1', port, localAddress: clientAddress }),
    rejectUnauthorized: false,
    servername: 'chat.example.org',
    ALPNProtocols: [protocol],
  })
}

function makeCertificate(path: string): void {
  const { status, stderr } = spawnSync('/usr/bin/openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-subj', '/CN=chat.example.org', '-days', '2', '-keyout', path, '-out', `${path}.crt`],
  ])
  if (status !== 0) throw new Error(`no certificate: ${stderr}`)
  spawnSync('sh', ['-c', `cat ${path}.crt >> ${path}`])
}

const nginxArgs = (folder: string) => ['-p', folder, '-c', join(folder, 'nginx.conf')]

function run(name: ProxyName, folder: string, config: string): Child {
  const path = join(folder, files[name])
  if (name === 'haproxy') {
    writeFileSync(path, config)
    return new Child([paths.haproxy, '-db', '-f', path])
  }
  if (name === 'caddy') {
    writeFileSync(path, config)
    const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
    return new Child([paths.caddy, 'run', '--adapter', 'caddyfile', '--config', path], { env })
  }
  writeFileSync(join(folder, 'hermod.conf'), config)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `${kind}_temp_path ${folder}/${kind};`)
    .join(' ')
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; worker_processes 2; pid ${folder}/nginx.pid; error_log stderr notice;
${process.getuid?.() === 0 ? 'user root;' : ''}
events { worker_connections 4096; }
http { access_log off; ${temporary} include ${folder}/hermod.conf; }
`,
  )
  return new Child([paths.nginx, ...nginxArgs(folder)])
}
