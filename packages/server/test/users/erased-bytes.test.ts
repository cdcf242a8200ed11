/** The file of the embedded database after an erasure, with its unused space and its log. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isFullRun, type Session, testBackends } from '@hermod/testkit'
import { describe, expect, it } from 'vitest'
import { aGroup } from '../support/groups/groups.js'
import { ownServer } from '../support/in-process-server.js'
import { endOfJob } from '../support/long-jobs.js'
import { operate } from '../support/messaging/message-operations.js'
import { sendText, sessions } from '../support/messaging/messaging.js'

const rounds = isFullRun ? 400 : 60

for (const backend of testBackends().filter(({ name }) => name === 'sqlite'))
  describe('bytes of the embedded database after an erasure', () => {
    const server = ownServer(backend)

    it('have no text of the person, whatever was changed, moved and deleted before', async () => {
      const [alice, bob, carol] = await sessions(server, 3)
      const operator = server.api.as(server.operatorToken)
      const marker = `zq${alice.id.toString(36)}qz`
      const group = await aGroup(bob, { members: [alice, carol] })
      const profile = (user: Session, nick_name: string) =>
        user.api.succeed('POST', '/user/profile', {
          body: { nick_name, public_info: `${nick_name} `.repeat(10) },
        })
      for (let round = 0; round < rounds; round++) {
        const text = `${marker} ${'text '.repeat(round % 50)}`
        await Promise.all([
          profile(alice, `${marker} ${round}`),
          profile(bob, `bob ${round}`),
          sendText(alice.api, bob.id, text),
          sendText(bob.api, alice.id, 'answer '.repeat(round % 30)),
          sendText(alice.api, group, text, { type: 2 }),
          sendText(carol.api, group, 'news '.repeat(round % 40), { type: 2 }),
        ])
        const edited = await sendText(alice.api, carol.id, `${marker} first`)
        const content = `${marker} second ${text}`
        await operate(alice.api, 'replace', { peer: carol.id, message: edited, content })
        const recalled = await sendText(alice.api, carol.id, `${marker} recalled ${text}`)
        await operate(alice.api, 'recall', { peer: carol.id, message: recalled })
      }
      const files = ['hermod.db', 'hermod.db-wal'].map((name) => join(server.dataDir, name))
      const bytes = () => files.map((path) => readFileSync(path)).map((all) => all.includes(marker))
      expect(bytes()).toContain(true)
      const { data } = await operator.succeed('POST', '/operator/v1/user/erase', {
        body: { app_id: server.appId, user_id: alice.id, messages: 'delete', reason: 'test' },
      })
      let isOver = false
      const meanwhile = (async () => {
        for (let sent = 0; !isOver; sent++)
          await sendText(bob.api, carol.id, 'meanwhile '.repeat(sent % 60))
      })()
      const job = await endOfJob(server, data.job_id)
      isOver = true
      await meanwhile
      expect([job.state, job.error]).toEqual(['done', ''])
      expect(bytes()).toEqual([false, false])
      expect(await server.sql.run('pragma integrity_check')).toEqual([{ integrity_check: 'ok' }])
      const found = await operator.succeed('POST', '/operator/v1/user/check_erased', {
        body: { app_id: server.appId, user_id: alice.id, texts: [marker] },
      })
      expect(found.data.faults).toEqual([])
    })
  })
