/** PostgreSQL that is away for a minute: nobody goes offline, and no push goes to a connected device. */
import { setTimeout as pause } from 'node:timers/promises'
import { PushSimulator } from '@hermod/push-simulator'
import {
  descendants,
  GatewayClient,
  isFullRun,
  type LoginSession,
  type PostgresCluster,
  type ServerProcess,
  startServer,
  testBackends,
  waitFor,
} from '@hermod/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { connect } from '../support/contacts.js'
import { sendText } from '../support/messaging/messaging.js'
import { PushWorld } from '../support/push/push-world.js'

const awayMs = 60_000
const tokens = { adminToken: `hma_${'a'.repeat(48)}`, operatorToken: `hmo_${'b'.repeat(48)}` }

/** Ways in which it goes; each returns what brings it back. */
const ways: Readonly<Record<string, (cluster: PostgresCluster) => Promise<() => Promise<void>>>> = {
  halted: async (cluster) => {
    const pids = [cluster.postmasterPid, ...descendants(cluster.postmasterPid)]
    for (const pid of pids) process.kill(pid, 'SIGSTOP')
    return async () => {
      for (const pid of pids) process.kill(pid, 'SIGCONT')
    }
  },
  stopped: async (cluster) => {
    await cluster.stop()
    return () => cluster.restart()
  },
}

for (const backend of isFullRun ? testBackends('own') : [])
  if ('cluster' in backend)
    describe('PostgreSQL that is away for a minute', () => {
      let simulator: PushSimulator
      let nodes: [ServerProcess, ServerProcess]
      let world: PushWorld
      const clients: GatewayClient[] = []

      beforeAll(async () => {
        simulator = await PushSimulator.start()
        const { url: databaseUrl } = await backend.createDatabase()
        const options = {
          ...tokens,
          databaseUrl: databaseUrl as string,
          env: { HERMOD_SECRET_KEY: `key-${'k'.repeat(40)}` },
        }
        const first = await startServer(options)
        nodes = [first, await startServer(options)]
        world = new PushWorld(
          { api: first.api, appId: first.api.options.appId, operatorToken: tokens.operatorToken },
          simulator,
        )
        await world.setCertificates(['vendor_x'])
      })
      afterEach(() => {
        for (const client of clients.splice(0)) client[Symbol.dispose]()
      })
      afterAll(async () => {
        for (const node of nodes ?? []) await node[Symbol.asyncDispose]()
        await backend.end()
        await simulator?.[Symbol.asyncDispose]()
      })

      async function open(node: ServerProcess, user: LoginSession): Promise<GatewayClient> {
        const client = await GatewayClient.connect(node.url)
        clients.push(client)
        const { appId } = node.api.options
        const { code } = await client.open({ appId, accessToken: user.token })
        expect(code).toBe(200)
        return client
      }

      it.each(Object.keys(ways))(
        '%s: changes nothing for those who are connected',
        async (way) => {
          const token = (name: string) => ({ vendor_x: `${way}${name}` })
          const [alice, bob, carol] = [
            await world.user(token('a')),
            await world.user(token('b')),
            await world.user(token('c')),
          ]
          await connect({ api: world.api.admin({ userId: alice.id }) }, bob, carol)
          const viewer = await open(nodes[0], alice)
          const others = [await open(nodes[0], bob), await open(nodes[1], carol)]
          const user_ids = [bob.id, carol.id]
          await waitFor(
            async () => {
              const { data } = await viewer.succeed('presence.subscribe', { user_ids })
              return data.every(({ online }: { online: boolean }) => online)
            },
            { what: 'both users on both nodes', timeoutMs: 5_000 },
          )
          // Their pushes wait for signs of life while the database goes.
          const before = [
            await sendText(alice.api, bob.id, 'before'),
            await sendText(alice.api, carol.id, 'before'),
          ]
          const comeBack = await (ways[way] as (typeof ways)[string])(await backend.cluster())
          await pause(awayMs)
          await comeBack()
          const sendAgain = async (to: LoginSession) =>
            waitFor(() => sendText(alice.api, to.id, 'after').catch(() => false as const), {
              what: 'a send after the outage',
              timeoutMs: 30_000,
            })
          const after = [await sendAgain(bob), await sendAgain(carol)]
          expect(viewer.events.filter(({ event }) => event === 'presence')).toEqual([])
          expect([viewer, ...others].map(({ ended }) => ended)).toEqual([null, null, null])
          for (const [index, user] of [bob, carol, bob, carol].entries()) {
            const { steps } = await world.delivered([...before, ...after][index] as number, user.id)
            expect(steps.at(-1), JSON.stringify(steps)).toMatchObject({ step: 'suppressed' })
          }
          expect(simulator.gateways.vendor_x.calls).toEqual([])
          for (const client of others) await client.succeed('user.online_status')
        },
        240_000,
      )
    })
