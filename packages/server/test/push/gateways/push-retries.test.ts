/** What becomes of pushes that a gateway does not take at once, on both databases (rule G8). */
import { pushDeliveryState } from '@hermod/protocol'
import { anyBackend, type Json, type Session, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withoutPauses } from '../../support/push/push-pauses.js'
import { type PushPlace, type PushWorld, startPushWorld } from '../../support/push/push-world.js'
import { ScriptedGateway } from '../../support/push/scripted-gateway.js'

const message = { title: 'News', body: 'There is something new.' }
const minuteMs = 60_000
let names = 0

function token(prefix = ''): string {
  return `${prefix}device-${++names}`
}

describe.each(anyBackend())('pushes that are not taken at once on $name', (backend) => {
  let place: PushPlace
  let world: PushWorld
  let gateway: ScriptedGateway

  beforeAll(async () => {
    place = await startPushWorld(backend, ['vendor_v', 'vendor_x'])
    ;({ world } = place)
    gateway = await ScriptedGateway.start()
    await world.setCertificate('vendor_f', 'scripted', {
      send_url: gateway.url,
      allows_pass_through: true,
    })
  })
  afterAll(async () => {
    await place?.[Symbol.asyncDispose]()
    await gateway?.[Symbol.asyncDispose]()
  })

  const now = () => place.watched.clock.now()
  const toUsers = (...users: readonly Session[]) => ({ user_id: users.map(({ id }) => id) })

  async function deliveryOf(taskId: number, user: Session): Promise<Json> {
    return (await world.trace({ task_id: taskId }, user.id)).devices[0]?.delivery
  }

  /** The last step, once there is one of a try. */
  async function triedStep(taskId: number, user: Session): Promise<Json> {
    const last = async () => (await deliveryOf(taskId, user))?.steps.at(-1)
    await waitFor(async () => (await last())?.step === 'tried', {
      what: 'a try',
      timeoutMs: 60_000,
    })
    return last()
  }

  it('are throttled as often as it takes, and a failure afterwards is the first one', async () => {
    const user = await world.user({ scripted: token() })
    const [throttled, failed] = [{ code: '110010' }, { code: '1001' }]
    gateway.answers(throttled, throttled, throttled, throttled, failed)
    const taskId = await world.notify({ audience: toUsers(user), message })
    await withoutPauses(place.watched, () =>
      world.reaches(taskId, { vendor_f_target: 1, vendor_f_sent: 1 }),
    )
  })

  it('fail five times at the most', async () => {
    const user = await world.user({ scripted: token() })
    gateway.answers(...Array.from({ length: 5 }, () => ({ code: '1001' })))
    const taskId = await world.notify({ audience: toUsers(user), message })
    await withoutPauses(place.watched, () => world.hasEnded(taskId))
    expect(await deliveryOf(taskId, user)).toMatchObject({
      state: pushDeliveryState.refused,
      attempts: 5,
    })
  })

  it('are sent again when they may have arrived, and commands only where nobody runs them twice', async () => {
    const [textTo, commandTo] = [token(), token()]
    const user = await world.user({ scripted: textTo })
    gateway.answers('cut')
    const text = await world.notify({ audience: toUsers(user), message })
    await world.reaches(text, { vendor_f_target: 1, vendor_f_sent: 1 })
    const requestsTo = (own: string) => gateway.requests.filter((body) => body.includes(own)).length
    expect(requestsTo(textTo)).toBe(2)
    const commanded = await world.user({ scripted: commandTo })
    gateway.answers('cut')
    const command = { type: 'cmd', ext: { do: 'sync' } }
    const taskId = await world.notify({ audience: toUsers(commanded), message: command })
    await world.hasEnded(taskId)
    expect(requestsTo(commandTo)).toBe(1)
    const { state, steps } = await deliveryOf(taskId, commanded)
    expect(state).toBe(pushDeliveryState.refused)
    expect(steps.at(-1)).toMatchObject({ result: 'network' })
    expect(steps.at(-1).text).toContain('it may have arrived')
  })

  it('stop for the device whose quota of the day is used up, and for no other', async () => {
    const [full, other] = [token(), token()]
    const [fullUser, otherUser] = [
      await world.user({ scripted: full }),
      await world.user({ scripted: other }),
    ]
    gateway.answers({ code: '200', value: { 110011: [full] }, msgId: 'message' })
    const first = await world.notify({ audience: toUsers(fullUser), message })
    await world.hasEnded(first)
    expect(await triedStep(first, fullUser)).toMatchObject({ result: 'quota', code: '110011' })
    const second = await world.notify({ audience: toUsers(fullUser, otherUser), message })
    await world.reaches(second, { vendor_f_target: 1, vendor_f_sent: 1 })
    const { devices } = await world.trace({ task_id: second }, fullUser.id)
    expect(devices[0].delivery.steps.at(-1)).toMatchObject({ result: 'device_paused' })
    expect(devices[0].bindings[0].paused_until).toBeGreaterThan(now())
  })

  it('stop for the class of messages whose quota is used up, and for no other', async () => {
    const user = await world.user({ scripted: token() })
    const command = { type: 'cmd', ext: { do: 'sync' } }
    gateway.answers({ code: '110053' })
    for (const code of ['110053', 'quota_used_up']) {
      const taskId = await world.notify({ audience: toUsers(user), message: command })
      await world.hasEnded(taskId)
      expect(await triedStep(taskId, user)).toMatchObject({ result: 'quota', code })
    }
    const query = { app_id: world.server.appId }
    const path = '/operator/v1/push/certificate/list'
    const { data } = await world.operator.succeed('GET', path, { query })
    const { paused_until, pauses } = data.find(({ name }: Json) => name === 'scripted')
    expect(paused_until).toBeGreaterThan(now())
    expect(pauses).toEqual({ command: paused_until })
    const text = await world.notify({ audience: toUsers(user), message })
    await world.reaches(text, { vendor_f_target: 1, vendor_f_sent: 1 })
  })

  it('keep the tokens that are said to have ended one by one with a certificate that never worked', async () => {
    const users = await Promise.all(
      Array.from({ length: 24 }, () => world.user({ vendor_v: token('dead-') })),
    )
    for (const taskId of await Promise.all(
      users.map((user) => world.notify({ audience: toUsers(user), message })),
    ))
      await world.hasEnded(taskId)
    const bound = await place.watched.sql.run(
      "select user_id from push_bindings where notifier_name = 'vendor_v'",
    )
    expect(bound).toHaveLength(5)
  })

  it('wait while nothing is sent with their certificate, and do not fail for it', async () => {
    const [faulty, other] = [
      await world.user({ vendor_x: token('config-') }),
      await world.user({ vendor_x: token() }),
    ]
    const refused = await world.notify({ audience: toUsers(faulty), message })
    const found = await triedStep(refused, faulty)
    expect(found).toMatchObject({ result: 'config' })
    expect(found.next_at).toBeGreaterThan(now() + 4 * minuteMs)
    const waiting = await world.notify({ audience: toUsers(other), message })
    const step = await triedStep(waiting, other)
    expect(step).toMatchObject({ result: 'held_back', code: 'circuit_open' })
    expect(step.next_at).toBeGreaterThan(now() + 4 * minuteMs)
    expect(step.next_at).toBeLessThan(now() + 7 * minuteMs)
    for (const [taskId, user] of [
      [refused, faulty],
      [waiting, other],
    ] as const)
      expect(await deliveryOf(taskId, user)).toMatchObject({ state: pushDeliveryState.pending })
    // Both are tried again among the short pushes. The job follows the recorded step.
    const jobs = () =>
      place.watched.sql.run(
        `select kind from jobs where outcome = '' and run_at > ${now() + 3 * minuteMs}`,
      )
    await waitFor(async () => (await jobs()).length >= 2, {
      what: 'the jobs of the next tries',
      timeoutMs: 30_000,
    })
    expect(await jobs()).toEqual(Array(2).fill({ kind: 'push.send' }))
  })
})
