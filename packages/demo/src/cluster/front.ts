/** The HTTP server of the demo of several nodes: the page, and a balancer for each of its sides. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { extname, join } from 'node:path'
import { isForThisMachine, pagePolicy } from '../routes.js'
import type { DemoNode } from './demo-node.js'
import { SideBalancer } from './side-balancer.js'

const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}
const files = ['index.html', 'chat.js', 'icon.svg', 'styles/base.css', 'styles/page.css']
const moreFiles = ['styles/lists.css', 'styles/messages.css', 'styles/message.css']
const sidePath = /^\/side\/(\d)(\/.*)$/
const commandPath = /^\/demo\/nodes\/(\d)\/(kill|start)$/

interface FrontOptions {
  readonly port: number
  /** The built page. */
  readonly folder: string
  readonly nodes: readonly DemoNode[]
  /** The names of the users. */
  readonly sides: readonly string[]
  /** The users and their tokens, as JSON. */
  readonly session: string
  /** Called with what happens to nodes and sides. */
  report(text: string): void
}

/** The address of the service for one side, below that of the page. */
export function servicePath(side: number): string {
  return `/side/${side}`
}

/** Starts the server on 127.0.0.1. @returns a function that stops it */
export async function startFront(options: FrontOptions): Promise<() => Promise<void>> {
  const { port, folder, nodes, session, sides, report } = options
  const nameOf = (node: DemoNode) => `node ${nodes.indexOf(node) + 1}`
  const balancers = sides.map(
    (name, side) =>
      new SideBalancer(failoverOrder(nodes, side, sides.length), (node) =>
        report(`${name} is connected to ${nameOf(node)}`),
      ),
  )
  const pages = new Map(
    [...files, ...moreFiles].map((name) => [`/demo/${name}`, readFileSync(join(folder, name))]),
  )
  const state = () =>
    JSON.stringify({
      nodes: nodes.map((node) => node.state),
      sides: balancers.map(({ node }) => (node ? nodes.indexOf(node) : null)),
    })

  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const side = sidePath.exec(request.url ?? '')
    const balancer = balancers[Number(side?.[1])]
    if (side && balancer) return balancer.pass(request, response, side[2] as string)
    if (!isForThisMachine(request)) return answer(response, 403, '{}')
    const command = commandPath.exec(pathname)
    if (command && request.method === 'POST' && isOfThisPage(request)) {
      const node = nodes[Number(command[1])]
      if (!node) return answer(response, 404, '{}')
      if (command[2] === 'start') {
        void node.start().then(
          () => report(`${nameOf(node)} runs`),
          () => report(`${nameOf(node)} does not start`),
        )
        return answer(response, 200, state())
      }
      return void node.kill().then(() => {
        report(`${nameOf(node)} was killed`)
        answer(response, 200, state())
      })
    }
    if (pathname === '/demo/nodes') return answer(response, 200, state())
    if (pathname === '/demo/session.json') return answer(response, 200, session)
    const name = pathname === '/demo' ? '/demo/index.html' : pathname
    const page = pages.get(name)
    answer(response, page ? 200 : 404, page ?? '{}', contentTypes[extname(name)])
  })
  server.on('upgrade', (request, socket, head) => {
    const side = sidePath.exec(request.url ?? '')
    const balancer = balancers[Number(side?.[1])]
    if (side && balancer) balancer.upgrade(request, socket, head, side[2] as string)
    else socket.destroy()
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return async () => {
    for (const balancer of balancers) balancer.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
}

/** Returns the node of a side, then those of no side, then those of the other sides. */
function failoverOrder(nodes: readonly DemoNode[], side: number, sides: number): DemoNode[] {
  const others = nodes.filter((_, index) => index < sides && index !== side)
  return [...nodes.slice(side, side + 1), ...nodes.slice(sides), ...others]
}

/** A page of another origin may not kill nodes. */
function isOfThisPage({ headers: { origin, host } }: IncomingMessage): boolean {
  return origin === `http://${host}`
}

function answer(
  response: ServerResponse,
  status: number,
  body: string | Buffer,
  contentType = 'application/json; charset=utf-8',
): void {
  response.writeHead(status, {
    'content-type': contentType,
    'content-security-policy': pagePolicy,
    'cross-origin-resource-policy': 'same-origin',
    'cache-control': 'no-cache',
    'x-content-type-options': 'nosniff',
  })
  response.end(body)
}
