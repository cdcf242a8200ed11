/** Why a push arrived or did not (rule G9). */
import { pushDeliveryState, pushTaskState } from '@hermod/protocol'
import { anyBackend, type Json, type Session, waitFor } from '@hermod/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { answerCode } from '../../support/answer-codes.js'
import type { InProcessServer } from '../../support/in-process-server.js'
import { type PushPlace, type PushWorld, startPushWorld } from '../../support/push/push-world.js'

const message = { title: 'News', body: 'There is something new.' }
let names = 0

function token(prefix = ''): string {
  return `${prefix}secret-${++names}`
}

describe.each(anyBackend())('traces on $name', (backend) => {
  let place: PushPlace
  let watched: InProcessServer
  let world: PushWorld

  beforeAll(async () => {
    place = await startPushWorld(backend, ['vendor_h', 'vendor_n', 'cloud_gw', 'ios_gw'])
    ;({ watched, world } = place)
  })
  afterAll(() => place?.[Symbol.asyncDispose]())

  const toUser = ({ id }: Session) => ({ user_id: [id] })
  const steps = (trace: Json) =>
    trace.devices[0].delivery.steps.map(({ step, result }: Json) =>
      result === undefined ? step : `${step} ${result}`,
    )

  async function traceWhenEnded(taskId: number, user: Session): Promise<Json> {
    await world.hasEnded(taskId)
    return world.trace({ task_id: taskId }, user.id)
  }

  it('tell a story of each device, with its steps in order, and never a token', async () => {
    const own = token()
    const user = await world.user({ vendor_n: own, 'not-there': token() })
    const taskId = await world.notify({ audience: toUser(user), message })
    await traceWhenEnded(taskId, user)
    await user.api.succeed('POST', '/push/report', { body: { task_id: taskId } })
    const trace = await world.trace({ task_id: taskId }, user.id)
    expect(steps(trace)).toEqual([
      'matched',
      'channel_chosen',
      'tried accepted',
      'receipt delivered',
    ])
    const [device] = trace.devices
    expect(trace.in_audience).toBe(true)
    expect(trace.text).toContain('Devices: 1 confirmed.')
    expect(device.text).toMatch(/^The device has confirmed it at 20/)
    expect(device.delivery).toMatchObject({
      state: pushDeliveryState.accepted,
      channel: 'vendor_n',
      attempts: 1,
      next_at: 0,
    })
    expect(device.delivery.received_at).toBeGreaterThan(trace.task.created_at)
    expect(device.bindings.map((each: Json) => [each.notifier_name, each.channel])).toEqual([
      ['not-there', ''],
      ['vendor_n', 'vendor_n'],
    ])
    expect(trace.task).toMatchObject({
      task_id: taskId,
      state: pushTaskState.expanded,
      audience: `the users ${user.id}`,
      devices: 1,
      finished: 1,
      counts: [{ channel: 'vendor_n', target: 1, sent: 1, received: 1 }],
    })
    for (const step of device.delivery.steps) expect(step.text).toMatch(/^[A-Z].*\.$/)
    const times = device.delivery.steps.map(({ at }: Json) => at)
    expect(times.toSorted((a: number, b: number) => a - b)).toEqual(times)
    expect(JSON.stringify(trace)).not.toContain('secret-')
  })

  it('name what the gateway said, the way that was taken instead, and what its channel changed', async () => {
    // Its certificate works, so that a dead token is believed.
    const other = await world.user({ vendor_h: token() })
    await traceWhenEnded(await world.notify({ audience: toUser(other), message }), other)
    const user = await world.user({ vendor_h: token('dead-'), cloud_gw: token() })
    const ext = { from: 'x', hermod: 1, order: 12 }
    const taskId = await world.notify({ audience: toUser(user), message: { ...message, ext } })
    const trace = await traceWhenEnded(taskId, user)
    const told = steps(trace)
    expect(told[2]).toBe('tried invalid_token')
    expect(told).toContain('token_cleared')
    expect(told.at(-1)).toBe('tried accepted')
    const [device] = trace.devices
    expect(device.delivery.steps[2].code).not.toBe('')
    expect(device.delivery.steps.at(-1)).toMatchObject({
      changes: 'ext.hermod left out, ext.from sent as ext._from',
      text: 'The gateway accepted it; changed for the channel: ext.hermod left out, ext.from sent as ext._from.',
    })
    expect(device.delivery.channel).toBe('cloud_gw')
    expect(device.bindings).toHaveLength(1)
    expect(device.text).toContain('/push/report')
    expect(device.text).toContain('Its ext is in data, as text values.')
  })

  it('say that a gateway wants a template, and that a certificate lacks the named one', async () => {
    const templates = [{ name: 'order', id: 'template-o' }]
    await world.setCertificate('vendor_o', 'private', { category: 'IM', templates })
    const user = await world.user({ private: token('template-') })
    const textOf = async (template?: string) => {
      const vendor_o = template === undefined ? {} : { template }
      const taskId = await world.notify({
        audience: toUser(user),
        message: { ...message, vendor_o },
      })
      return (await traceWhenEnded(taskId, user)).devices[0].text
    }
    expect(await textOf()).toContain(
      '(54: private_msg_template_id is null; vendor_o wants a template for private messages: set one on the certificate with --templates-file)',
    )
    expect(await textOf('order')).toContain(
      'vendor_o does not take the template order: compare its ID template-o',
    )
    expect(await textOf('another')).toContain(
      'The gateway refuses such a message (no_template: the certificate has no template with the name another)',
    )
  })

  it('say why nothing was sent to a device in the audience', async () => {
    const user = await world.user({ vendor_n: token() })
    await user.api.succeed('POST', '/user/push', { query: { value: true } })
    const taskId = await world.notify({ audience: toUser(user), message })
    const trace = await traceWhenEnded(taskId, user)
    expect(steps(trace)).toEqual(['matched', 'suppressed no_push'])
    const [device] = trace.devices
    expect(device.delivery.state).toBe(pushDeliveryState.suppressed)
    expect(device.text).toBe('It was not sent: the user has turned pushes off.')
    expect(trace.text).toContain('Devices: 1 not sent.')
  })

  it('say why there is nothing of a device', async () => {
    const [unbound, late, outsider, deviceless] = [
      await world.user(),
      await world.user(),
      await world.user({ vendor_n: token() }),
      await world.api.newSession(),
    ]
    const tag = `tag ${++names}`
    for (const user of [unbound, late, deviceless])
      await user.api.succeed('POST', '/user/push/tag', { body: { tags: [tag] } })
    const taskId = await world.notify({ audience: { tag: [tag] }, message })
    await world.isResolved(taskId)
    await world.bind(late, 'vendor_n', token())
    const textOf = async (user: Session) => {
      const { devices, text, in_audience } = await world.trace({ task_id: taskId }, user.id)
      return [in_audience, devices[0]?.text ?? text]
    }
    expect(await textOf(unbound)).toEqual([
      true,
      'The device has bound no push token, and was not connected at the time of the push.',
    ])
    expect(await textOf(late)).toEqual([
      true,
      'The device bound its token after the push had begun.',
    ])
    expect(await textOf(outsider)).toEqual([
      false,
      'The audience does not contain the user at present.',
    ])
    expect(await textOf(deviceless)).toEqual([
      true,
      'The audience contains the user, who has no device.',
    ])
  })

  it('know a push that is still to begin, and devices that the audience does not name', async () => {
    const user = await world.user({ vendor_n: token() })
    const begins = Math.floor(Date.now() / 1_000) + 3_600
    const later = await world.notify({
      audience: toUser(user),
      message: { ...message, show_begin_time: begins },
    })
    const waiting = await world.trace({ task_id: later }, user.id)
    expect(waiting.devices[0].text).toBe(
      `The push begins at ${new Date(begins * 1_000).toISOString()}.`,
    )
    const tablet = await world.api.login(user, 'tablet')
    const taskId = await world.notify({
      audience: { push_token: [tablet.record.push_token] },
      message,
    })
    const trace = await traceWhenEnded(taskId, user)
    expect(trace.devices[0].text).toBe('The audience names other devices of the user.')
    expect(JSON.stringify(trace)).not.toContain(tablet.record.push_token)
  })

  it('explain the push of a message by the ID of the message', async () => {
    const [sender, receiver] = [await world.user(), await world.user({ vendor_n: token() })]
    const { msg_ids: ids } = await sender.api.succeed('POST', '/message/send', {
      body: { type: 1, content_type: 0, content: 'hi', targets: [receiver.id] },
    })
    const [msgId] = ids
    const trace = await waitFor(
      async () => {
        const query = { msg_id: msgId, user_id: receiver.id }
        const { code, data } = await world.admin.call('GET', '/push/trace', { query })
        return code === 200 && data.devices[0]?.delivery?.state !== 0 && data
      },
      { what: 'the push of the message', timeoutMs: 60_000 },
    )
    expect(trace.task).toMatchObject({
      msg_id: msgId,
      audience: `user ${receiver.id}, of a message of user ${sender.id}`,
    })
    expect(trace.in_audience).toBe(true)
    expect(steps(trace).at(-1)).toBe('tried accepted')
    const own = await world.trace({ msg_id: msgId }, sender.id)
    expect([own.in_audience, own.devices[0].text]).toEqual([
      false,
      'The audience does not contain the user at present.',
    ])
  })

  it('are for Admin tokens, and name one push of a user who is there', async () => {
    const user = await world.user({ vendor_n: token() })
    const taskId = await world.notify({ audience: toUser(user), message })
    const get = async (query: Json, api = world.admin) =>
      (await api.call('GET', '/push/trace', { query })).code
    const whole = { task_id: taskId, user_id: user.id }
    expect(await get(whole)).toBe(200)
    expect(await get(whole, user.api)).toBe(answerCode.no_permission)
    expect(await get({ user_id: user.id })).toBe(answerCode.invalid_parameter)
    expect(await get({ task_id: taskId })).toBe(answerCode.invalid_parameter)
    expect(await get({ ...whole, msg_id: 5 })).toBe(answerCode.invalid_parameter)
    expect(await get({ ...whole, task_id: taskId + 1 })).toBe(answerCode.push_task_not_found)
    expect(await get({ msg_id: 0, user_id: user.id })).toBe(answerCode.push_task_not_found)
    expect(await get({ msg_id: 5, user_id: user.id })).toBe(answerCode.push_task_not_found)
    expect(await get({ ...whole, user_id: user.id + 1_000_000 })).toBe(answerCode.user_not_found)
    await traceWhenEnded(taskId, user)
    await user.api.succeed('POST', '/user/delete', { body: { password: user.password } })
    expect(await get(whole)).toBe(answerCode.user_deleted)
  })

  it('go with a deleted user, and the counts stay', async () => {
    const [user, other] = [
      await world.user({ vendor_n: token() }),
      await world.user({ vendor_n: token() }),
    ]
    const taskId = await world.notify({
      audience: { user_id: [user.id, other.id] },
      message,
    })
    await traceWhenEnded(taskId, other)
    const left = async () =>
      (await watched.sql.run(`select user_id from push_deliveries where task_id = ${taskId}`)).map(
        ({ user_id }) => user_id,
      )
    expect(await left()).toHaveLength(2)
    await user.api.succeed('POST', '/user/delete', { body: { password: user.password } })
    expect(await left()).toEqual([other.id])
    expect(await world.counts(taskId)).toEqual({ vendor_n_target: 2, vendor_n_sent: 2 })
  })
})
