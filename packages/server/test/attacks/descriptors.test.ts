import { execFileSync, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { PushSimulator } from '@hermod/push-simulator'
import {
  type Answer,
  type Api,
  anyBackend,
  isFullRun,
  type ServerProcess,
  waitFor,
} from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { askAgain, closedFor, expectUnharmed, Honest } from '../support/attack.js'

const timeoutMs = 120_000
const patienceMs = 30_000
/** Loading the service at its start takes some hundred at once. */
const descriptors = 800
const env = { HERMOD_CHECK_ANSWERS: 'on' }
const bodyOfCall = JSON.stringify({ username: 'waited', password: 'correct horse' })
/** Nothing but a shell bounds what the service may open. */
const wrapper = ['sh', '-c', `ulimit -n ${descriptors}; exec "$@"`, 'sh']
const canLower = spawnSync('prlimit', ['--version']).error === undefined

let simulator: PushSimulator

beforeAll(async () => {
  simulator = await PushSimulator.start()
})
afterAll(() => simulator[Symbol.asyncDispose]())

describe.each(anyBackend())('file descriptors on $name', (backend) => {
  if (isFullRun)
    test('more idle connections than descriptors: the longest idle ones close and callers are served', {
      timeout: timeoutMs,
    }, async () => {
      await using server = await backend.startServer({ env, wrapper })
      // Nothing was called before, so whatever a call needs would be opened now.
      const sockets = await openConnections(server, descriptors + 100)
      try {
        for (const { name, call } of everyKind(server))
          expect({ name, code: (await askAgain(call)).code }).toEqual({ name, code: 200 })
        expect(openDescriptors(server)).toBeLessThan(descriptors)
        await waitFor(async () => sockets[0]?.closed, {
          what: 'the end of the first connection',
          timeoutMs: patienceMs,
        })
        const honest = await askAgain(() => Honest.on(server, { asksAgain: true }))
        expectUnharmed(
          await honest.beside(`idle connections beyond descriptors (${backend.name})`, async () => {
            sockets.push(...(await openConnections(server, 2 * descriptors)))
          }),
        )
      } finally {
        for (const socket of sockets) socket.destroy()
      }
      expect(await askAgain(() => closedFor(server, 'descriptors'))).toBeGreaterThan(100)
      const lines = linesAbout(server, 'few file descriptors are left').length
      expect(lines).toBeGreaterThan(0)
      expect(lines).toBeLessThan(20)
    })

  if (isFullRun)
    test('more busy connections than descriptors: the excess gets 503 until descriptors are free', {
      timeout: timeoutMs,
    }, async () => {
      const patient = { ...env, HERMOD_STALL_SECONDS: '100' }
      await using server = await backend.startServer({ env: patient, wrapper })
      const busy: Socket[] = []
      try {
        for (let count = 0; count < descriptors; count += 50)
          busy.push(...(await openConnections(server, 50, headOfCall(server))))
        const late = await waitFor(
          async () => {
            // In the place of the caller's own connection, which is idle by now.
            busy.push(...(await openConnections(server, 1, headOfCall(server))))
            const answer = await appConfig(server).catch(() => null)
            return answer?.status === 503 && answer
          },
          { what: 'a refusal', timeoutMs: patienceMs },
        )
        expect(late.code).toBe(answerCode.unavailable)
        expect(Number(late.headers['retry-after'])).toBeGreaterThan(0)
        const served = busy[0] as Socket
        served.write(bodyOfCall)
        expect(await answerOn(served)).toMatch(/^HTTP\/1\.1 200 /)
        expect(openDescriptors(server)).toBeLessThan(descriptors)
      } finally {
        for (const socket of busy) socket.destroy()
      }
      await waitFor(
        async () => (await appConfig(server).catch(() => null))?.code === answerCode.ok,
        { what: 'an answer', timeoutMs: patienceMs },
      )
      for (const { name, call } of everyKind(server))
        expect({ name, code: (await call()).code }).toEqual({ name, code: 200 })
    })

  test.runIf(canLower)(
    'no descriptor left: calls get 503 or succeed, and the same server recovers',
    { timeout: timeoutMs },
    async () => {
      await using server = await backend.startServer({ env, wrapper })
      const kinds = everyKind(server)
      // A connection that is open already.
      await appConfig(server)
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
        if (answer.status === 503) expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
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

/**
 * Calls that need what nothing before them needs: password hashes, the first commit of messages,
 * push providers, files.
 */
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

/** @param head what each of them says */
async function openConnections(
  server: ServerProcess,
  count: number,
  head?: string,
): Promise<Socket[]> {
  const { hostname, port } = new URL(server.url)
  const sockets: Socket[] = []
  for (let opened = 0; opened < count; opened++) {
    const socket = connect({ host: hostname, port: Number(port) })
    socket.on('error', () => {})
    await once(socket, 'connect')
    if (head !== undefined) socket.write(head)
    // Or the end of a connection would not be seen.
    else socket.resume()
    sockets.push(socket)
  }
  return sockets
}

/** Of a call whose body is still to come, which keeps its connection busy. */
function headOfCall(server: ServerProcess): string {
  return [
    'POST /user/register/v2 HTTP/1.1',
    `host: ${new URL(server.url).host}`,
    `app_id: ${server.appId}`,
    'content-type: application/json',
    `content-length: ${bodyOfCall.length}`,
    '\r\n',
  ].join('\r\n')
}

function appConfig({ api }: ServerProcess): Promise<Answer> {
  return api.call('GET', '/app/config', { query: { platform: 1 } })
}

/** @returns the head and the beginning of the answer */
async function answerOn(socket: Socket): Promise<string> {
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
