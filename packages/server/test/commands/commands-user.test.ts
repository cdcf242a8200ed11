/** `hermod user` for one user, its operations and the ways to a server. */
import { anyBackend, sharedPassword as password, TempFolder } from '@hermod/testkit'
import { describe, expect, test } from 'vitest'
import { answerCode, expectCode } from '../support/answer-codes.js'
import { cheapHash, printed, userCommands } from '../support/commands/user-commands.js'
import { callHermod, runHermod } from '../support/hermod-command.js'
import { recordedEvents } from '../support/messaging/recorded-events.js'
import { WatchedServer } from '../support/watched-server.js'

describe.concurrent.each(anyBackend())('hermod user on $name', (backend) => {
  const commands = userCommands(backend)

  test('create takes the password from standard input and never shows it', async () => {
    const appId = await commands.newApp()
    const secret = 'p4ssw0rd of alice'
    const args = [
      'create',
      appId,
      'alice',
      '--password-stdin',
      '--nick-name',
      'Alice',
      '--email',
      'alice@example.org',
    ]
    const result = await runHermod(['user', ...args], commands.server.settings, `${secret}\n`)
    expect(result).toMatchObject({ code: 0, err: '' })
    expect(result.out).not.toContain(secret)
    await expectCode(commands.logIn(appId, 'alice@example.org', secret), 'ok')
    const answer = await commands.json(['create', appId, 'bob', '--password-stdin'], secret)
    expect(answer).toEqual({ user_id: expect.any(Number), username: 'bob' })
    await expectCode(commands.logIn(appId, 'bob', secret), 'ok')
    expect(commands.server.output()).not.toContain(secret)
  })

  test('create makes a password where none is given and shows it once', async () => {
    const appId = await commands.newApp()
    const { password: made } = await commands.json(['create', appId, 'alice'])
    expect(made).toMatch(/^[\w-]{20}$/)
    await expectCode(commands.logIn(appId, 'alice', made), 'ok')
    const { out } = await commands.run(['create', appId, 'bob'])
    expect(out).toMatch(/^password +[\w-]{20}$/m)
    expect(out).toContain('not shown again')
    expect(commands.server.output()).not.toContain(made)
  })

  test('create says why it cannot', async () => {
    const appId = await commands.newApp({ user_limit: 1 })
    expect(await commands.run(['create', appId, 'alice'])).toMatchObject({ code: 0 })
    const refused = async (args: readonly string[], input?: string) =>
      JSON.parse((await commands.run(['create', ...args, '--json'], input)).err)
    expect(await refused([appId, 'Alice'])).toEqual({
      code: answerCode.user_exists,
      message: 'user already exists',
    })
    expect(await refused([appId, 'bob'])).toMatchObject({ code: answerCode.user_limit_reached })
    expect(await refused(['nowhere', 'bob'])).toMatchObject({ code: answerCode.app_not_found })
    expect(await refused([appId, '123'])).toMatchObject({
      code: answerCode.invalid_parameter,
      message: expect.stringContaining('username'),
    })
    expect(await refused([appId, 'bob', '--password-stdin'], 'short')).toMatchObject({
      message: expect.stringContaining('password'),
    })
    expect(await refused([appId, 'bob', '--password-stdin'], '')).toEqual({
      code: null,
      message: 'standard input holds no password',
    })
  })

  const anAlice = async () => {
    const appId = await commands.newApp()
    await commands.json(['create', appId, 'alice', '--password-stdin'], password)
    const { data } = await commands.logIn(appId, 'alice')
    const call = async () =>
      (await commands.server.api.as(data.token).call('GET', '/user/profile', { appId })).code
    expect(await call()).toBe(200)
    return { appId, id: String(data.user_id), call }
  }

  test('disable ends logins and tokens until enable, and both may be repeated', async () => {
    const { appId, id, call } = await anAlice()
    const disabled = { user_id: Number(id), username: 'alice', status: 1 }
    expect(await commands.json(['disable', appId, 'alice'])).toEqual(disabled)
    expect(await commands.json(['disable', appId, id])).toEqual(disabled)
    expect(await call()).toBe(answerCode.token_expired)
    await expectCode(commands.logIn(appId, 'alice'), 'user_disabled')
    expect((await commands.run(['disable', appId, id])).out).toMatch(/^status +disabled$/m)
    for (const who of ['ALICE', id])
      expect(await commands.json(['enable', appId, who])).toEqual({ ...disabled, status: 0 })
    await expectCode(commands.logIn(appId, 'alice'), 'ok')
  })

  test('delete ends the user, tells of a repeat, and frees the username', async () => {
    const { appId, id, call } = await anAlice()
    expect(await commands.json(['delete', appId, 'alice'])).toEqual({
      user_id: Number(id),
      deleted: true,
    })
    expect(await commands.json(['delete', appId, id])).toEqual({
      user_id: Number(id),
      deleted: false,
    })
    expect(await commands.run(['delete', appId, id])).toMatchObject({
      code: 0,
      out: `User ${id} of ${appId} was deleted before.\n`,
    })
    expect(await commands.run(['delete', appId, 'alice'])).toMatchObject({
      code: 1,
      err: 'hermod: user does not exist\n',
    })
    expect(await call()).toBe(answerCode.token_expired)
    await expectCode(commands.logIn(appId, 'alice'), 'user_not_found')
    expect(JSON.parse((await commands.run(['enable', appId, id, '--json'])).err)).toMatchObject({
      code: answerCode.user_deleted,
    })
    expect(
      await commands.json(['import', appId, commands.ndjson([{ username: 'alice' }])]),
    ).toMatchObject({ created: 1 })
  })

  test('reset-password sets or makes a password and ends the tokens', async () => {
    const { appId, id, call } = await anAlice()
    const secret = 'a brand new password'
    const result = await commands.run(
      ['reset-password', appId, 'alice', '--password-stdin'],
      secret,
    )
    expect(result).toMatchObject({ code: 0, err: '' })
    expect(result.out).not.toContain(secret)
    expect(await call()).toBe(answerCode.token_expired)
    await expectCode(commands.logIn(appId, 'alice'), 'password_incorrect')
    await expectCode(commands.logIn(appId, 'alice', secret), 'ok')
    const made = await commands.json(['reset-password', appId, id])
    await expectCode(commands.logIn(appId, 'alice', made.password), 'ok')
    await expectCode(commands.logIn(appId, 'alice', secret), 'password_incorrect')
    const weak = await commands.run(
      ['reset-password', appId, 'alice', '--password-stdin', '--json'],
      'weak',
    )
    expect(JSON.parse(weak.err)).toMatchObject({
      code: answerCode.invalid_parameter,
      message: expect.stringContaining('password must have'),
    })
    expect(commands.server.output()).not.toContain(secret)
  })

  test('the operations name what is wrong with a call', async () => {
    const appId = await commands.newApp()
    const user = { app_id: appId, user_id: 1, username: 'alice' }
    for (const path of ['disable', 'enable', 'delete', 'reset_password']) {
      for (const body of [user, { app_id: appId }]) {
        const { code, envelope } = await commands.operate(path, body)
        expect([path, code, envelope.message]).toEqual([
          path,
          answerCode.invalid_parameter,
          'invalid request parameter: give either user_id or username',
        ])
      }
      await expectCode(commands.operate(path, { app_id: appId, user_id: 1 }), 'user_not_found')
      await expectCode(commands.operate(path, { app_id: 'nowhere', user_id: 1 }), 'app_not_found')
    }
    const users = Array.from({ length: 501 }, (_, index) => ({ username: `u${index}` }))
    expect((await commands.operate('import', { app_id: appId, users })).envelope.message).toContain(
      'users must have at most 500 items',
    )
    expect(
      (await commands.operate('import', { app_id: appId, users: [] })).envelope.message,
    ).toContain('users must not be empty')
    const operator = commands.server.api.as(commands.server.operatorToken)
    const page = await operator.call('GET', '/operator/v1/user/export', {
      query: { app_id: appId, cursor: 'x' },
    })
    expect(page.envelope.message).toContain('cursor must be one that a page before has returned')
  })

  test('an import answers for each entry, in order, and its first of two namesakes wins', async () => {
    const appId = await commands.newApp()
    const users = [
      { username: 'a1', email: 'a@example.org' },
      { username: 7 },
      { username: 'A1' },
      { username: 'b1', email: 'a@example.org' },
      'text',
    ]
    const { data } = await commands.operate('import', { app_id: appId, users })
    const id = data[0].user_id
    expect(data).toEqual([
      { username: 'a1', result: 'created', user_id: expect.any(Number) },
      {
        username: '',
        result: 'failed',
        reason: 'invalid request parameter: username must be a string',
      },
      { username: 'A1', result: 'exists', user_id: id },
      { username: 'b1', result: 'failed', reason: 'e-mail address is taken' },
      { username: '', result: 'failed', reason: expect.stringContaining('must be an object') },
    ])
  })

  test('--url works from anywhere with the operator token', async () => {
    const appId = await commands.newApp()
    using elsewhere = new TempFolder('elsewhere')
    const settings = {
      HERMOD_DATA_DIR: elsewhere.path,
      HERMOD_OPERATOR_TOKEN: commands.server.operatorToken,
    }
    const run = (args: readonly string[]) =>
      callHermod(['user', ...args, '--url', commands.server.url], settings)
    expect(
      (await run(['import', appId, commands.ndjson([{ username: 'far', password }])])).code,
    ).toBe(0)
    expect((await run(['export', appId])).out).toContain('"username":"far"')
    await expectCode(commands.logIn(appId, 'far'), 'ok')
  })

  test('without a server the users are made in the database itself', async () => {
    await using database = await backend.createDatabase()
    using folder = new TempFolder('alone')
    const settings = { HERMOD_DATA_DIR: folder.path, HERMOD_DATABASE_URL: database.url }
    const run = (...args: string[]) => callHermod(args, settings)
    expect(await run('app', 'create', '--id', 'alone')).toMatchObject({ code: 0 })
    const users = Array.from({ length: 1200 }, (_, index) => ({
      username: `u${index}`,
      password_hash: cheapHash,
    }))
    expect(
      printed(await run('user', 'import', 'alone', commands.ndjson(users), '--json')),
    ).toMatchObject({ created: 1200 })
    expect(printed(await run('user', 'disable', 'alone', 'u7', '--json'))).toMatchObject({
      status: 1,
    })
    expect((await run('user', 'export', 'alone')).out.split('\n')).toHaveLength(1201)
  })

  test('without a server a deletion erases the texts of the user before the command ends', async () => {
    await using watched = await WatchedServer.start(backend)
    const { api, appId } = watched.server
    const alice = await api.newSession('alice')
    const bob = await api.newSession('bob')
    const carol = await api.newSession('carol')
    for (const one of [alice, bob])
      await one.api.succeed('POST', '/user/authmode', { body: { value: 1 } })
    for (const [from, to] of [
      [alice, bob],
      [carol, alice],
      [carol, bob],
    ] as const) {
      const body = { user_id: to.id, reason: `${from.username} to ${to.username}` }
      await from.api.succeed('POST', '/roster/apply', { body })
    }
    const reasons = async () =>
      (await recordedEvents(watched.sql, 'contact.applied')).map(({ content }) => content)
    expect(await reasons()).toEqual(['alice to bob', 'carol to alice', 'carol to bob'])
    expect(await watched.server.stop()).toMatchObject({ code: 0 })

    const deletion = ['user', 'delete', appId, 'alice']
    expect(await callHermod(deletion, watched.settings)).toMatchObject({ code: 0, err: '' })
    expect(await reasons()).toEqual(['', '', 'carol to bob'])
    expect(await watched.sql.run('select kind, outcome from jobs order by kind')).toEqual([
      { kind: 'contact_removal', outcome: '' },
      { kind: 'reaction_removal', outcome: '' },
      { kind: 'text_erasure', outcome: 'done' },
    ])
  })
})
