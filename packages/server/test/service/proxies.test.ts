/** The configurations of deploy/proxies, as written, in front of two nodes. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, createClient } from '@hermod/client'
import {
  Api,
  freePort,
  GatewayClient,
  isFullRun,
  type ServerProcess,
  type Session,
  startServer,
  TempFolder,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { metric } from '../support/attack.js'
import { fetchAs, pathOf, sendFile } from '../support/files/files.js'
import { contents, history, integrityFaults, sendText } from '../support/messaging/messaging.js'
import { clientAddress, configOf, DeployedProxy, proxyProblem } from '../support/proxies.js'

const all = ['caddy', 'haproxy', 'nginx'] as const
const names = all.filter((name) => proxyProblem(name) === null)
/** As `hermod nodes drain` does. */
async function drain({ api, dataDir, operatorToken }: ServerProcess): Promise<void> {
  const { id } = JSON.parse(readFileSync(join(dataDir, 'node.id'), 'utf8'))
  const body = { node_id: id }
  await api.as(operatorToken).succeed('POST', '/operator/v1/node/drain', { body })
}

const backends = isFullRun ? testBackends().filter(({ name }) => name === 'postgres') : []

it.each(all)('the configuration of %s has addresses of two nodes', (name) => {
  const config = configOf(name, { port: 1, nodes: [2, 3], certificate: '/certificate.pem' })
  expect(config).not.toMatch(/10\.0\.0|:8080|chat\.example\.org\.pem|^chat\./m)
})

describe.each(backends)('two nodes behind a proxy', (backend) => {
  let database: Awaited<ReturnType<typeof backend.createDatabase>>
  let files: TempFolder
  let ports: number[]
  const nodes: ServerProcess[] = []

  beforeAll(async () => {
    database = await backend.createDatabase()
    files = new TempFolder('files')
    ports = [await freePort(), await freePort()]
    const tokens = {
      adminToken: `hma_${'a'.repeat(48)}`,
      operatorToken: `hmo_${'b'.repeat(48)}`,
    }
    for (const port of ports)
      nodes.push(
        await startServer({
          ...tokens,
          port,
          databaseUrl: database.url as string,
          env: {
            HERMOD_SECRET_KEY: 'k'.repeat(48),
            HERMOD_TRUST_PROXY: '127.0.0.1',
            HERMOD_DRAIN_SECONDS: '4',
            HERMOD_LOG_LEVEL: 'debug',
            HERMOD_FILES_DIR: files.path,
            HERMOD_FILES_SHARED: 'on',
          },
        }),
      )
  })

  afterAll(async () => {
    for (const node of nodes) await node[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
    files[Symbol.dispose]()
  })

  it.concurrent.each(names)(
    '%s: sockets live through more than a heartbeat',
    async (name) => {
      await using proxy = await DeployedProxy.start(name, ports)
      const [first] = nodes as [ServerProcess]
      const [alice, bob] = await Promise.all([first.api.newSession(), first.api.newSession()])
      const clients = await Promise.all([1, 2, 3, 4].map(() => GatewayClient.connect(proxy.url)))
      for (const client of clients)
        await client.open({ appId: first.appId, accessToken: bob.token })
      // Longer than the time-outs of the proxies.
      await sleep(110_000)
      const id = await sendText(alice.api, bob.id, 'hello')
      for (const client of clients) {
        expect(await client.next('message.stored')).toMatchObject({ data: { msg_id: id } })
        client[Symbol.dispose]()
      }
    },
    150_000,
  )

  describe.each(names)('%s', (name) => {
    let proxy: DeployedProxy
    let api: Api
    let alice: Session
    let bob: Session

    beforeAll(async () => {
      proxy = await DeployedProxy.start(name, ports)
      api = new Api({ ...(nodes[0] as ServerProcess).api.options, url: proxy.url })
      ;[alice, bob] = (await Promise.all([api.newSession(), api.newSession()])) as [
        Session,
        Session,
      ]
    })

    afterAll(async () => {
      api?.close()
      await proxy?.[Symbol.asyncDispose]()
    })

    const sendsOf = async () =>
      Promise.all(
        nodes.map((node) =>
          metric(node, 'hermod_request_answers_total{operation="message.send",code="200"}'),
        ),
      )

    it('calls: reach both nodes, with their headers', async () => {
      const before = await sendsOf()
      await Promise.all(
        Array.from({ length: 40 }, (_, index) => sendText(alice.api, bob.id, `${index}`)),
      )
      const after = await sendsOf()
      for (const [index, count] of after.entries())
        expect(count).toBeGreaterThan(before[index] || 0)
      expect(await contents(bob.api, alice.id)).toHaveLength(40)
    })

    it('clients: are told from callers on the machine of a node', async () => {
      expect((await api.call('GET', '/metrics')).status).toBe(403)
      const headers = { 'x-forwarded-for': '203.0.113.7' }
      await api.call('GET', '/user/profile', { token: 'hmu_unknown', headers })
      const addresses = nodes.flatMap((node) =>
        [...node.output().matchAll(/"address":"([^"]*)","operation":"user.profile.get"/g)].map(
          ([, address]) => address,
        ),
      )
      expect(new Set(addresses)).toEqual(new Set([clientAddress]))
    })

    it('the client: sends and receives', async () => {
      const { appId } = nodes[0] as ServerProcess
      const clients = [alice, bob].map(({ id, token }) =>
        createClient({ url: proxy.url, appId, userId: id, token: () => token }),
      )
      const [from, to] = clients as [Client, Client]
      const text = new Promise((resolve) => {
        to.onMessage((message) => resolve(message.text))
      })
      await Promise.all(clients.map((client) => client.connect()))
      await from.direct(bob.id).send('by the client')
      expect(await text).toBe('by the client')
      await Promise.all(clients.map((client) => client.close()))
    })

    it('HTTP/2: carries calls with their headers', async () => {
      const session = proxy.connectHttp2()
      const request = session.request({
        ':path': '/user/profile',
        app_id: (nodes[0] as ServerProcess).appId,
        'access-token': alice.token,
      })
      const answer = JSON.parse(await text(request))
      session.close()
      expect(answer).toMatchObject({ code: 200, data: { user_id: alice.id } })
    })

    it('a file of 60 MiB: is uploaded to one node and read from either', async () => {
      const content = randomBytes(60 * 2 ** 20)
      const url = await sendFile(alice.api, { to_id: bob.id }, content)
      for (let reader = 0; reader < 4; reader++) {
        const read = await fetchAs(bob.api, bob.token, proxy.url + pathOf(url))
        expect(Buffer.isBuffer(read) && read.equals(content)).toBe(true)
      }
    }, 120_000)

    it('a killed node: calls go on', async () => {
      const second = nodes[1] as ServerProcess
      await second.kill9()
      await waitFor(
        async () => {
          for (let call = 0; call < 20; call++)
            if ((await api.call('GET', '/readyz').catch(() => null))?.status !== 200) return false
          return true
        },
        { what: 'calls of one node alone', timeoutMs: 15_000, everyMs: 200 },
      )
      for (let call = 0; call < 50; call++) await sendText(alice.api, bob.id, `${call}`)
      nodes[1] = await second.startAgain()
    }, 60_000)

    it('restarts of one node after the other under load: refuse, lose and double nothing', async () => {
      const senders = await Promise.all(Array.from({ length: 6 }, () => api.newSession()))
      const sent = new Map<number, string>()
      let isOver = false
      const failed = { refused: 0, cut: 0 }
      /** Sends one message, again with the same transaction_id where the answer is no 200. */
      const sendOne = async (sender: Session, number: number) => {
        const body = {
          ...{ type: 1, content_type: 0, targets: [bob.id] },
          content: `${sender.id}/${number}`,
          transaction_id: number + 1,
        }
        for (;;) {
          const answer = await api
            .as(sender.token)
            .call('POST', '/message/send', { body })
            .catch(() => null)
          const code = answer === null || answer.status >= 500 ? 0 : answer.code
          if (code === answerCode.ok)
            return void sent.set(answer?.envelope.msg_ids[0], body.content)
          if (answer === null) failed.cut++
          else failed.refused++
          await sleep(50)
        }
      }
      const sending = senders.map(async (sender) => {
        for (let number = 0; !isOver; number++) await sendOne(sender, number)
      })
      for (const [index, node] of nodes.entries()) {
        await sleep(2_000)
        await proxy.setDown(ports[index] ?? 0, true)
        await drain(node)
        expect(await node.exited).toEqual({ code: 0, signal: null })
        nodes[index] = await node.startAgain()
        await proxy.setDown(ports[index] ?? 0, false)
      }
      await sleep(3_000)
      isOver = true
      await Promise.all(sending)
      for (const sender of senders) {
        const shown = (await history(bob.api, sender.id)).map(({ msg_id, content }) => [
          Number(msg_id),
          content,
        ])
        const own = [...sent].filter(([, content]) => content.startsWith(`${sender.id}/`))
        expect(shown.toSorted()).toEqual(own.toSorted())
      }
      expect(sent.size).toBeGreaterThan(100)
      if (process.env.HERMOD_SHOW_FIGURES === '1')
        process.stdout.write(`${name}: ${sent.size} messages, ${JSON.stringify(failed)}\n`)
      expect(failed.refused).toBe(0)
      // A reload of nginx closes kept connections.
      if (name !== 'nginx') expect(failed.cut).toBe(0)
      expect(await integrityFaults(nodes[0] as ServerProcess)).toEqual([])
    }, 120_000)
  })
})
