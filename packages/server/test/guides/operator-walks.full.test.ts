/** The pages on backup, restore and moving: their blocks, and the steps that they have in words. */
import { join } from 'node:path'
import { parallelBackend, startServer } from '@hermod/testkit'
import { expect, it } from 'vitest'
import { type Block, isRunnable } from '../../../../scripts/docs/src/blocks.js'
import { blocksRunBy } from '../../../../scripts/docs/src/page-blocks.js'
import { GuideShell } from '../support/guides/guide-shell.js'

const all = blocksRunBy(import.meta.filename).filter(isRunnable)
const folders = ['/mnt/', '/srv/', '/etc/hermod/', '/root/', '/backups/', '/safe/', '/var/']
/** The name of the backup in the pages. */
const named = '20261129T160000Z-k3f9a1'

function blocksOfGuide(page: string, count: number): Block[] {
  const blocks = all.filter((block) => block.page === `docs/guides/${page}.md`)
  expect(blocks).toHaveLength(count)
  return blocks
}

/** A shell with a service that has a message, a file and an application `shop`. */
async function startShell(): Promise<GuideShell> {
  const shell = await GuideShell.start({ folders })
  await shell.do('mkdir -p mnt/share srv etc/hermod root backups safe var/lib var/tmp')
  await shell.do('npx hermod app create --id shop --name Shop')
  const [alice, bob] = [await shell.server.api.newSession(), await shell.server.api.newSession()]
  const body = { type: 1, targets: [bob.id], content_type: 0, content: 'Hello' }
  await alice.api.succeed('POST', '/message/send', { body })
  return shell
}

it('guides of backup and restore: the backups of the page verify, and a service on a restored one begins', async () => {
  await using shell = await startShell()
  const [setting, create, verify, passphrase, encrypted] = blocksOfGuide('backup', 5) as [
    ...[Block, Block, Block, Block, Block],
  ]
  await shell.run(setting)
  const env = { HERMOD_BACKUP_DIR: join(shell.folder.path, 'mnt/hermod-backups') }
  await shell.server.stop()
  shell.server = await shell.server.startAgain({ env })
  await shell.run(create)
  const name = (await shell.do('ls /mnt/hermod-backups | grep ^20 | head -1')).trim()
  expect(name).toMatch(/^\d{8}T\d{6}Z-\w+$/)
  shell.replace(named, name)
  await shell.do('cp -a /mnt/hermod-backups /mnt/offsite; cp data/secret.key /root/secret.key')
  expect(await shell.run(verify)).toMatch(/verified/i)
  await shell.run(passphrase)
  await shell.do('cp /etc/hermod/backup-passphrase /root/')
  shell.replace(`/mnt/share/${named}`, 'mnt/share/20*')
  await shell.run(encrypted)

  const [restore, finish, epoch] = blocksOfGuide('restore', 3) as [Block, Block, Block]
  await shell.do(
    'rm -rf /srv/hermod /mnt/before-upgrade; cp -a /mnt/hermod-backups/. /backups/; cp data/secret.key /safe/',
  )
  await shell.run(restore)
  await shell.server.stop()
  const dataDir = join(shell.folder.path, 'srv/hermod')
  await using restored = await startServer({ appId: 'hermod', dataDir, startedAt: '/healthz' })
  await shell.do('export HERMOD_DATA_DIR=/srv/hermod')
  await shell.run(finish)
  expect((await fetch(`${restored.url}/readyz`)).status).toBe(200)
  await restored.stop()
  await shell.run(epoch)
}, 300_000)

it('guides of security, erasure, scaling and upgrade: the commands take the IDs of an installation', async () => {
  await using shell = await startShell()
  const created = await shell.do('npx hermod token create --app shop --name old --json')
  shell.replace('1536692975726656', /"token_id":(\d+)/.exec(created)?.[1] ?? '')
  const [tokens, scopes, lostKey] = blocksOfGuide('security', 3) as [Block, Block, Block]
  // The first one revokes the token of the second.
  await shell.run(scopes)
  await shell.run(tokens)

  const users: string[] = []
  for (const name of ['ann', 'ben', 'cleo']) {
    const made = await shell.do(`npx hermod user create shop ${name} --json`)
    users.push(/"user_id":(\d+)/.exec(made)?.[1] ?? '')
  }
  const [ann = '', ben = '', cleo = ''] = users
  shell.replace('1234', ann)
  shell.write('texts.txt', 'Ann Example\n')
  const [erasure, holds] = blocksOfGuide('erasure', 2) as [Block, Block]
  await shell.run(erasure)
  shell.replace('1234', ben)
  shell.replace('5678', cleo)
  await shell.run(holds)

  const [history, compact] = blocksOfGuide('scaling', 2) as [Block, Block]
  await shell.run(history)
  await shell.server.stop()
  await shell.run(compact)
  for (const block of blocksOfGuide('upgrade', 2)) await shell.run(block)

  shell.write('lost.sql', lostKey.text)
  const script =
    'import sqlite3; sqlite3.connect("data/hermod.db").executescript(open("lost.sql").read())'
  await shell.do(`rm data/secret.key; python3 -c '${script}'`)
  shell.server = await shell.server.startAgain()
  for (const app of ['hermod', 'shop']) await shell.do(`npx hermod file revoke-links --app ${app}`)
  await shell.do('npx hermod check')
}, 300_000)

const postgres = parallelBackend().find((each) => each.name === 'postgres')
it('guides of moving: an installation comes to PostgreSQL, an export to another installation, with equal digests', async () => {
  await using shell = await startShell()
  await shell.do('npx hermod backup create --to /mnt/hermod-backups')
  const name = (await shell.do('ls /mnt/hermod-backups | grep ^20 | head -1')).trim()
  shell.replace(named, name)
  await shell.server.stop()
  await shell.do('cp -a data /var/lib/hermod')
  await using database = await postgres?.createDatabase()
  shell.replace('postgres://hermod@db.example.org/hermod', database?.url ?? 'none')

  const [out, key, into, fromBackup, undelivered] = blocksOfGuide('moving', 5) as [
    ...[Block, Block, Block, Block, Block],
  ]
  await shell.run(out)
  await shell.run(key)
  if (database) await shell.run(into)
  await shell.do('unset HERMOD_DATABASE_URL; export HERMOD_DATA_DIR=/var/lib/hermod')
  await shell.run(fromBackup)
  await shell.run(undelivered)

  const [one, other] = blocksOfGuide('moving-applications', 2) as [Block, Block]
  const before = await shell.run(one)
  await shell.do('export HERMOD_DATA_DIR=/var/lib/other; mkdir -m 700 /var/lib/other')
  const after = await shell.run(other)
  const digest = (output: string) => output.trimEnd().split('\n').slice(-2)
  expect(digest(after), `${before}\n\n${after}`).toEqual(digest(before))
}, 300_000)
