import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { type Answer, type Api, type ServerProcess, testBackends, waitFor } from '@hermod/testkit'
import { PushSimulator } from '@hermod/testkit/push'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { answerCode } from '../support/answer-codes.js'

const timeoutMs = 120_000
const patienceMs = 30_000
/** Loading the service at its start takes some hundred at once. */
const descriptors = 800
const env = { HERMOD_CHECK_ANSWERS: 'on' }
/** Nothing but a shell bounds what the service may open. */
const wrapper = ['sh', '-c', `ulimit -n ${descriptors}; exec "$@"`, 'sh']
const canLower = spawnSync('prlimit', ['--version']).error === undefined

let simulator: PushSimulator

beforeAll(async () => {
  simulator = await PushSimulator.start()
})
afterAll(() => simulator[Symbol.asyncDispose]())

for (const backend of testBackends()) {
  describe(`file descriptors on ${backend.name}`, () => {
    test('with more connections than they allow, those that are too many get 503 and the others are served; then all are', {
      timeout: timeoutMs,
    }, async () => {
      await using server = await backend.startServer({ env, wrapper })
      // Nothing was called before, so whatever a call needs would be opened now.
      const sockets = await openConnections(server, descriptors + 100)
      try {
        const late = await waitFor(
          async () => {
            const answer = await server.api
              .call('GET', '/app/config', { query: { platform: 1 } })
              .catch(() => null)
            return answer?.status === 503 && answer
          },
          { what: 'a refusal', timeoutMs: patienceMs },
        )
        expect(late.code).toBe(answerCode.unavailable)
        expect(Number(late.headers['retry-after'])).toBeGreaterThan(0)
        const served = sockets[0] as Socket
        expect(await requestOn(served, server, '/readyz')).toMatch(/^HTTP\/1\.1 200 /)
        expect(openDescriptors(server)).toBeLessThan(descriptors)
      } finally {
        for (const socket of sockets) socket.destroy()
      }
      await waitFor(
        async () => {
          const answer = await server.api
            .call('GET', '/app/config', { query: { platform: 1 } })
            .catch(() => null)
          return answer?.code === 200
        },
        { what: 'an answer', timeoutMs: patienceMs },
      )
      for (const { name, call } of everyKind(server))
        expect({ name, code: (await call()).code }).toEqual({ name, code: 200 })
      expect(linesAbout(server, 'connections are refused').length).toBeLessThan(20)
    })

    test.runIf(canLower)(
      'without a single one left before the first call of each kind, calls get 503 or succeed; then the same server does all',
      { timeout: timeoutMs },
      async () => {
        await using server = await backend.startServer({ env, wrapper })
        const kinds = everyKind(server)
        // A connection that is open already.
        await server.api.succeed('GET', '/app/config', { query: { platform: 1 } })
        // Below what is open, so that whatever is closed meanwhile leaves no room.
        lowerTo(server, 4)
        const during: Record<string, number> = {}
        for (const { name, call } of kinds) {
          const answer = await call().catch((error: NodeJS.ErrnoException) => error)
          if (answer instanceof Error) {
            expect(['ECONNRESET', 'EPIPE']).toContain((answer as NodeJS.ErrnoException).code)
            continue
          }
          during[name] = answer.status
          expect([200, 503]).toContain(answer.status)
          if (answer.status === 503)
            expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
        }
        expect(Object.values(during)).toContain(503)
        lowerTo(server, descriptors)
        for (const { name, call } of kinds) {
          const code = await waitFor(
            async () => {
              const answer = await call().catch(() => null)
              return answer !== null && answer.status === 200 && answer.code
            },
            { what: `${name} after it`, timeoutMs: patienceMs },
          )
          expect({ name, code }).toEqual({ name, code: 200 })
        }
      },
    )
  })
}

/** Calls that need what nothing before them needs: password hashes, the first commit of messages, push providers, files. */
function everyKind(
  server: ServerProcess,
): { readonly name: string; readonly call: () => Promise<Answer> }[] {
  const { api, operatorToken, appId } = server
  const operator: Api = api.as(operatorToken)
  const { appKey, appSecret, certificate, packageName, endpoint, ...of } =
    simulator.gateways.vendor_x.certificate
  let users = 0
  return [
    {
      name: 'first certificate',
      call: () =>
        operator.call('POST', '/operator/v1/push/certificate/set', {
          body: {
            app_id: appId,
            name: 'first',
            channel: 'vendor_x',
            gateway_app_id: of.appId,
            app_key: appKey,
            app_secret: appSecret,
            certificate,
            package_name: packageName ?? '',
            send_url: endpoint.sendUrl,
            auth_url: endpoint.authUrl ?? '',
            ca: endpoint.ca,
          },
        }),
    },
    {
      name: 'registration',
      call: () =>
        api.call('POST', '/user/register/v2', {
          body: { username: `user_${++users}`, password: 'correct horse' },
        }),
    },
    {
      name: 'send',
      call: async () => {
        const user = await api.call('POST', '/user/register/v2', {
          body: { username: `sender_${++users}`, password: 'correct horse' },
        })
        if (user.code !== 200) return user
        const { user_id } = user.envelope.data
        return api.admin().call('POST', '/message/send', {
          body: { content: 'x', content_type: 0, type: 1, targets: [user_id] },
        })
      },
    },
    {
      name: 'integrity check',
      call: () => operator.call('POST', '/operator/v1/check', { body: {} }),
    },
  ]
}

async function openConnections(server: ServerProcess, count: number): Promise<Socket[]> {
  const { hostname, port } = new URL(server.url)
  const sockets: Socket[] = []
  for (let opened = 0; opened < count; opened++) {
    const socket = connect({ host: hostname, port: Number(port) })
    socket.on('error', () => {})
    await once(socket, 'connect')
    sockets.push(socket)
  }
  return sockets
}

/** @returns the head and the beginning of the answer */
async function requestOn(socket: Socket, server: ServerProcess, path: string): Promise<string> {
  socket.write(`GET ${path} HTTP/1.1\r\nhost: ${new URL(server.url).host}\r\n\r\n`)
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  return bytes.toString()
}

function openDescriptors({ pid }: ServerProcess): number {
  return readdirSync(`/proc/${pid}/fd`).length
}

/** From now on the process may have so many. */
function lowerTo({ pid }: ServerProcess, limit: number): void {
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${limit}:${descriptors}`])
}

function linesAbout(server: ServerProcess, text: string): string[] {
  return server
    .output()
    .split('\n')
    .filter((line) => line.includes(text))
}
