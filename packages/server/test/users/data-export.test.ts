/** The export of the data of a person (decision 080). */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { anyBackend, type Json, TempFolder, waitFor } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { expectCode } from '../support/answer-codes.js'
import { png } from '../support/files/files.js'
import { callHermod } from '../support/hermod-command.js'
import { ownServer } from '../support/in-process-server.js'
import { endedJob } from '../support/long-jobs.js'
import { sendText, sessions } from '../support/messaging/messaging.js'
import { PersonalSample } from '../support/personal-sample.js'

describe.each(anyBackend())('export of the data of a person on $name', (backend) => {
  const server = ownServer(backend)
  const sample = new PersonalSample(server)

  const exported = (userId: number, folder?: string) =>
    endedJob(server, '/operator/v1/user/data_export', {
      ...{ app_id: server.appId, user_id: userId, ...(folder !== undefined && { folder }) },
    })

  const linesOf = (folder: string, table: string): Json[] =>
    readFileSync(join(folder, `${table}.ndjson`), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))

  it('has the words, contacts and files of the person, and no words, numbers or credentials of others', async () => {
    const [alice, bob, carol] = await sessions(server, 3)
    await bob.api.succeed('POST', '/user/profile', { body: { nick_name: 'Robert Known-To-None' } })
    await sample.fillMore(alice, { bob, carol }, 'by_alice')
    await sample.fill(alice, { bob, carol }, 'by_alice')
    await server.sql.run(
      `update contacts set alias = 'words of others', ext = 'words of others' where peer_id = ${alice.id}`,
    )
    const job = await exported(alice.id)
    expect([job.state, job.error]).toEqual(['done', ''])
    const { folder, rows, files } = job.result
    expect(folder.startsWith(join(server.dataDir, 'exports'))).toBe(true)
    const names = readdirSync(folder)
    expect(names).toEqual(expect.arrayContaining(['COMPLETE', 'README.txt', 'messages.ndjson']))
    expect(names).not.toContain('INCOMPLETE')
    const said = linesOf(folder, 'messages')
    expect(said).toHaveLength(rows.messages)
    expect(said.every(({ sender_id }) => sender_id === alice.id)).toBe(true)
    expect(said.map(({ content }) => content)).toContain('by_alice was here')
    expect(linesOf(folder, 'users')[0]).toMatchObject({ user_id: alice.id, nick_name: 'by_alice' })
    const text = names
      .filter((name) => name !== 'files')
      .map((name) => readFileSync(join(folder, name), 'utf8'))
      .join('')
    expect(text).toContain('by_alice of bob')
    for (const foreign of [
      'words of others',
      'Robert',
      'dear by_alice',
      'password_hash',
      'token_hash',
    ])
      expect([foreign, text.includes(foreign)]).toEqual([foreign, false])
    const stored = readdirSync(join(folder, 'files'))
    expect(stored).toHaveLength(files)
    expect(readFileSync(join(folder, 'files', stored[0] ?? ''))).toEqual(png)
    for (const name of names) if (name.endsWith('.ndjson')) expect(text).toContain(name)
  })

  it('a folder with something else is refused, and one of a killed export of the user is written anew', async () => {
    const [alice, bob] = await sessions(server, 2)
    using place = new TempFolder('export')
    writeFileSync(join(place.path, 'mine.txt'), 'x')
    expect(await exported(alice.id, place.path)).toMatchObject({ state: 'failed' })
    expect(existsSync(join(place.path, 'mine.txt'))).toBe(true)
    using killed = new TempFolder('export')
    writeFileSync(join(killed.path, 'users.ndjson'), '{"cut')
    expect(await exported(alice.id, killed.path)).toMatchObject({ state: 'failed' })
    writeFileSync(join(killed.path, 'INCOMPLETE'), '')
    expect(await exported(alice.id, killed.path)).toMatchObject({ state: 'failed' })
    expect(existsSync(join(killed.path, 'users.ndjson'))).toBe(true)
    writeFileSync(join(killed.path, 'INCOMPLETE'), `${server.appId} ${bob.id}\n`)
    expect(await exported(alice.id, killed.path)).toMatchObject({ state: 'failed' })
    writeFileSync(join(killed.path, 'INCOMPLETE'), `${server.appId} ${alice.id}\n`)
    expect(await exported(alice.id, killed.path)).toMatchObject({ state: 'done' })
    expect(linesOf(killed.path, 'users')).toHaveLength(1)
    expect(existsSync(join(killed.path, 'INCOMPLETE'))).toBe(false)
    expect(await exported(alice.id, killed.path)).toMatchObject({ state: 'failed' })
    await expectCode(
      server.api.as(server.operatorToken).call('POST', '/operator/v1/user/data_export', {
        body: { app_id: server.appId, user_id: alice.id, folder: 'relative' },
      }),
      'invalid_parameter',
    )
  })

  it('a folder that cannot be made ends the export with its name', async () => {
    const [alice] = await sessions(server, 1)
    expect(await exported(alice.id, '/proc/hermod/alice')).toMatchObject({
      ...{ state: 'failed' },
      error:
        '/proc/hermod/alice cannot be used: no folder can be made in /proc; give another folder',
    })
  })

  it('of two exports into one folder at a time one is refused, and nothing is there twice', async () => {
    const [alice, bob] = await sessions(server, 2)
    await sendText(alice.api, bob.id, 'once')
    using place = new TempFolder('export')
    const folder = join(place.path, 'alice')
    const jobs = await Promise.all([exported(alice.id, folder), exported(alice.id, folder)])
    expect(jobs.map(({ state }) => state).sort()).toEqual(['done', 'failed'])
    expect(linesOf(folder, 'messages')).toHaveLength(1)
  })

  it('does not tell who else has the person as a contact, or has blocked the person', async () => {
    const [alice, bob] = await sessions(server, 2)
    await bob.api.succeed('POST', '/roster/block', { query: { user_id: alice.id } })
    const { result } = await exported(alice.id)
    expect(result.rows.contacts).toBe(0)
  })

  it('an erasure removes the exports of the user in the data folder and the paths of others in jobs, and those of other users stay', async () => {
    const [alice, bob] = await sessions(server, 2)
    using place = new TempFolder('export')
    const named = await exported(alice.id, join(place.path, 'alice-smith'))
    const folders = [
      (await exported(alice.id)).result.folder,
      (await exported(bob.id)).result.folder,
    ]
    const operator = server.api.as(server.operatorToken)
    const body = { app_id: server.appId, user_id: alice.id, messages: 'keep', reason: 'test' }
    await operator.succeed('POST', '/operator/v1/user/erase', { body })
    await waitFor(() => !existsSync(folders[0]), {
      what: 'the removal of the export',
      timeoutMs: 20_000,
    })
    expect(folders.map((folder) => existsSync(folder))).toEqual([false, true])
    expect(existsSync(named.result.folder)).toBe(true)
    const { data } = await operator.succeed('GET', '/operator/v1/job/list')
    expect(JSON.stringify(data)).not.toContain('alice-smith')
    expect(JSON.stringify(data)).not.toContain(folders[0])
    expect(JSON.stringify(data)).toContain(folders[1])
    expect(
      await server.sql.run("select 1 from long_jobs where params like '%alice-smith%'"),
    ).toEqual([])
  })

  it('the command exports where no service runs', async () => {
    const [alice] = await sessions(server, 1)
    using place = new TempFolder('export')
    const folder = join(place.path, 'alice')
    await server.stop()
    try {
      const { code, out, err } = await callHermod(
        ['user', 'data-export', server.appId, String(alice.id), '--to', folder],
        server.settings,
      )
      expect([code, err]).toEqual([0, ''])
      expect(out).toContain(folder)
      expect(existsSync(join(folder, 'COMPLETE'))).toBe(true)
    } finally {
      await server.startAgain()
    }
  })
})
