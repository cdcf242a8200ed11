/** `hermod import csv`: a table of users with their IDs in another system. */
import { writeFileSync } from 'node:fs'
import { anyBackend } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { userCommands } from '../support/commands/user-commands.js'
import { callHermod } from '../support/hermod-command.js'

describe.concurrent.each(anyBackend())('hermod import csv on $name', (backend) => {
  const commands = userCommands(backend)
  const hermod = (...args: readonly string[]) =>
    callHermod(['import', 'csv', ...args], commands.server.settings)
  const table = [
    '\ufeffSubject,nick_name,description',
    '4711,"Ann, the ""first""","two\r\nlines"',
    'ben@x,=HYPERLINK("evil"),',
    '',
  ].join('\r\n')

  it('checks and imports users, and a repeat makes nobody twice', async () => {
    const appId = await commands.newApp()
    const file = commands.file('users.csv', table)
    expect(
      JSON.parse((await hermod(file, '--check', '--issuer', 'app', '--json')).out.trim()),
    ).toEqual({
      in: 2,
      mapped: 2,
      faults: 0,
      reasons: [],
      samples: [],
    })
    for (const counts of [
      { created: 2, exists: 0 },
      { created: 0, exists: 2 },
    ]) {
      const { code, out, err } = await hermod(file, '--app', appId, '--issuer', 'app', '--json')
      expect({ code, err }).toEqual({ code: 0, err: '' })
      expect(JSON.parse(out)).toMatchObject({ ...counts, failed: 0 })
    }
    const operator = commands.server.api.as(commands.server.operatorToken)
    const { data } = await operator.succeed('GET', '/operator/v1/user/export', {
      query: { app_id: appId },
    })
    expect((data as { users: object[] }).users).toMatchObject([
      {
        nick_name: 'Ann, the "first"',
        description: 'two\r\nlines',
        identities: [{ issuer: 'app', subject: '4711' }],
      },
      { nick_name: '=HYPERLINK("evil")', identities: [{ issuer: 'app', subject: 'ben@x' }] },
    ])
  })

  it.each([
    ['a missing column', 'username,issuer\nann,app\n', 'the header names no column subject'],
    ['no issuer', 'subject\n1\n', 'has no issuer; name it in the column issuer or by --issuer'],
    ['a subject twice', 'issuer,subject\na,1\na,1\n', 'has the subject of a line before'],
    ['an empty file', '', 'is empty'],
    ['a compressed file', '\u001f\u008b\u0008', 'is compressed'],
  ])('%s is named', async (_, content, sentence) => {
    const file = commands.file('users.csv', '')
    writeFileSync(file, Buffer.from(content, 'latin1'))
    const { code, out, err } = await hermod(file, '--check')
    expect(code).toBe(1)
    expect(out + err).toContain(sentence)
  })
})
