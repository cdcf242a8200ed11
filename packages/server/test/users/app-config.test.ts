/**
 * The settings of an application: who sets them, what clients see, and what they limit, on both
 * databases (rules B5, C2, D8).
 */
import { createHmac } from 'node:crypto'
import { featureNames } from '@hermod/protocol'
import { type Api, anyBackend, type Json } from '@hermod/testkit'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { answerCode } from '../support/answer-codes.js'
import { ownServer } from '../support/in-process-server.js'

const password = 'correct horse'

const defaults = {
  contact_application_days: 7,
  contact_limit: 5_000,
  file_link_days: 3_650,
  file_max_bytes: 104_857_600,
  file_quota_bytes: 0,
  group_application_days: 7,
  group_capacity_limit: 100_000,
  group_limit: 0,
  group_member_limit: 5_000,
  group_owner_limit: 5_000,
  hide_member_info: true,
  history_days: 0,
  message_forward_max_message_num: 100,
  message_forward_max_user_num: 20,
  reaction_mode: 'distinct',
  recall_enabled: true,
  recall_seconds: 300,
  registration_burst: 60,
  registration_rate: 10,
  stranger_chat_default: 1,
  stream_review: false,
  system_avatar: '',
  system_name: 'System',
  time_zone: 'UTC',
  user_limit: 0,
}

describe.each(anyBackend())('the settings of an application on $name', (backend) => {
  const server = ownServer(backend)
  let operator: Api
  let app: { appId: string; token: string }

  beforeAll(async () => {
    operator = server.api.as(server.operatorToken)
  })

  beforeEach(async () => {
    const { data } = await operator.succeed('POST', '/operator/v1/app/create')
    app = { appId: data.app_id, token: data.admin_token }
  })

  function update(changes: object) {
    return operator.call('POST', '/operator/v1/app/update', {
      body: { app_id: app.appId, ...changes },
    })
  }

  async function shown(): Promise<Json> {
    const { data } = await operator.succeed('GET', '/operator/v1/app/list')
    return data.find((each: Json) => each.app_id === app.appId)
  }

  function register(username: string, more: object = {}, path = '/user/register/v2') {
    return server.api.call('POST', path, {
      appId: app.appId,
      body: { username, password, ...more },
    })
  }

  it('have defaults', async () => {
    expect(await shown()).toMatchObject({ settings: defaults, has_registration_secret: false })
  })

  it('change one by one and stay otherwise as they are', async () => {
    const first = { recall_seconds: 60, time_zone: 'Europe/Berlin', hide_member_info: false }
    expect((await update({ settings: first })).data).toMatchObject({
      settings: { ...defaults, ...first },
    })
    await update({ settings: { recall_seconds: 300, user_limit: 9 }, name: 'renamed' })
    const expected = {
      ...defaults,
      time_zone: 'Europe/Berlin',
      hide_member_info: false,
      user_limit: 9,
    }
    expect(await shown()).toMatchObject({ name: 'renamed', settings: expected })
  })

  it('lose no change when several are made at once', async () => {
    const changes = [
      { recall_seconds: 1 },
      { contact_limit: 2 },
      { user_limit: 3 },
      { time_zone: 'Asia/Tokyo' },
      { recall_enabled: false },
    ]
    await Promise.all(changes.map((settings) => update({ settings })))
    expect((await shown()).settings).toEqual(Object.assign({}, defaults, ...changes))
  })

  it('are refused by name when they are unknown or bad, and then nothing is changed', async () => {
    const answer = await update({
      name: 'renamed',
      settings: { recall_second: 5, time_zone: 7, user_limit: -1 },
    })
    expect(answer).toMatchObject({ status: 200, code: answerCode.invalid_parameter, data: null })
    for (const name of ['recall_second ', 'time_zone ', 'user_limit '])
      expect(answer.envelope.message).toContain(`settings.${name}must`)
    for (const time_zone of ['Mars/Olympus', '+01:00', '']) {
      const refused = await update({ name: 'renamed', settings: { time_zone } })
      expect(refused).toMatchObject({ code: answerCode.invalid_parameter })
      expect(refused.envelope.message).toContain('settings.time_zone must')
    }
    expect(await shown()).toMatchObject({ name: app.appId, settings: defaults })
  })

  it('of an application that nobody has are not found', async () => {
    const body = { app_id: 'nobody', settings: { user_limit: 1 } }
    expect(await operator.call('POST', '/operator/v1/app/update', { body })).toMatchObject({
      code: answerCode.app_not_found,
    })
  })

  it('are shown to clients as far as they need them', async () => {
    const config = () =>
      server.api.succeed('GET', '/app/config', { appId: app.appId, query: { platform: 2 } })
    const flags = {
      hide_member_info: true,
      message_forward_max_message_num: 100,
      message_forward_max_user_num: 20,
      features: [...featureNames],
    }
    expect((await config()).data).toEqual(flags)
    await update({
      settings: {
        hide_member_info: false,
        message_forward_max_user_num: 5,
        message_forward_max_message_num: 6,
      },
    })
    const changed = {
      hide_member_info: false,
      message_forward_max_message_num: 6,
      message_forward_max_user_num: 5,
      features: [...featureNames],
    }
    expect((await config()).data).toEqual(changed)
  })

  it('ask clients for their platform', async () => {
    const answer = await server.api.call('GET', '/app/config', {
      appId: app.appId,
      query: { platform: 9 },
    })
    expect(answer).toMatchObject({ code: answerCode.invalid_parameter })
    expect(answer.envelope.message).toContain('platform must')
  })

  describe('a limit of users', () => {
    it('refuses those above it, whichever way they come', async () => {
      await update({ settings: { user_limit: 2 } })
      expect(await register('first')).toMatchObject({ code: 200 })
      const list = ['second', 'third', 'first'].map((username) => ({ username, password }))
      const { data } = await server.api.succeed('POST', '/user/register/batch', {
        ...app,
        body: { list },
      })
      expect(data.map(({ success }: Json) => success)).toEqual([true, false, false])
      expect(data[1].reason).toContain('user limit')
      expect(data[2].reason).toContain('exists')
      expect(await register('fourth')).toMatchObject({ code: answerCode.user_limit_reached })
      expect(await register('fourth', {}, '/user/register/push')).toMatchObject({
        code: answerCode.user_limit_reached,
      })
      expect(await register('fourth', {}, '/user/register/anonymous')).toMatchObject({
        code: answerCode.user_limit_reached,
      })
      await update({ settings: { user_limit: 3 } })
      expect(await register('fourth')).toMatchObject({ code: 200 })
    })

    it('is kept when many register at once', async () => {
      await update({ settings: { user_limit: 3 } })
      const codes = await Promise.all(
        Array.from({ length: 8 }, async (_, index) => (await register(`racer_${index}`)).code),
      )
      expect(codes.toSorted((a, b) => a - b)).toEqual([
        200,
        200,
        200,
        ...Array(5).fill(answerCode.user_limit_reached),
      ])
      expect((await server.api.succeed('GET', '/user/list', app)).data).toHaveLength(3)
    })

    it('counts nobody who was deleted', async () => {
      await update({ settings: { user_limit: 1 } })
      const { data } = (await register('first')).envelope
      await server.api.succeed('POST', '/user/delete', { ...app, userId: data.user_id })
      expect(await register('second')).toMatchObject({ code: 200 })
    })
  })

  it('let a registration secret be set, which is never shown, and then sign is asked for', async () => {
    const secret = 'between us'
    const answer = await update({ registration_secret: secret })
    expect(answer.data).toMatchObject({ has_registration_secret: true })
    expect(answer.text).not.toContain(secret)
    expect(JSON.stringify(await shown())).not.toContain(secret)
    const path = '/user/register/push'
    expect(await register('signed', {}, path)).toMatchObject({
      code: answerCode.registration_signature_invalid,
    })
    const sign = createHmac('sha256', secret).update(`${app.appId}\nsigned`).digest('hex')
    expect(await register('other', { sign }, path)).toMatchObject({
      code: answerCode.registration_signature_invalid,
    })
    expect(await register('signed', { sign }, path)).toMatchObject({ code: 200 })
    expect((await update({ registration_secret: '' })).data).toMatchObject({
      has_registration_secret: false,
    })
    expect(await register('unsigned', {}, path)).toMatchObject({ code: 200 })
  })
})
