/**
 * Plays the life of an installation with real processes and prints each step with its time: a backup
 * under load, the loss of the machine, a restore, an app that reconciles, a move to PostgreSQL and
 * back, and an erasure. The exit code is 1 when something is not as it should be.
 *
 *   node bench/dist/transcript/main.js [messages, default 1000000] [files, default 2000]
 */
import { mkdirSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { type ServerProcess, startServer, TempFolder } from '@hermod/testkit'
import { quiet } from '../measure/measure.js'
import { describeMachine } from '../report/machine.js'
import { erase } from './erasing.js'
import { createInstallation } from './installation.js'
import { moveThereAndBack } from './moving.js'
import { loseAndRestore } from './recovery.js'
import { Transcript } from './transcript.js'

const [messages = 1_000_000, files = 2_000] = process.argv.slice(2).map(countOf)

function countOf(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new Error(`${text}: give the number of messages and of files`)
  return Number(text)
}

async function play(): Promise<void> {
  const transcript = new Transcript()
  using folder = new TempFolder('transcript')
  const place = (name: string) => join(folder.path, name)
  await using installation = await transcript.step(
    'an installation, filled through its API',
    () => createInstallation(messages, files),
    () => `${messages} messages, ${files} files of 50 kB`,
  )
  transcript.heading('Backup and restore')
  const restored = await loseAndRestore(transcript, installation, {
    ...{ backups: place('backups'), keyFile: place('secret.key'), restored: place('restored') },
  })
  transcript.heading('SQLite, PostgreSQL, SQLite')
  await stop(restored)
  mkdirSync(place('moved'))
  const back = await moveThereAndBack(transcript, restored.dataDir, place('moved'))
  transcript.heading('Erasure')
  const { appId, adminToken, operatorToken } = restored
  await using _server = await startServer({ dataDir: back, appId, adminToken, operatorToken })
  await erase(transcript, {
    ...{ dataDir: back, appId, userId: installation.person.id, textsFile: place('texts.txt') },
    texts: ['ada_lovelace', 'written without the service'],
  })
  transcript.end()
}

/** Stops a service that has done its work. */
async function stop(server: ServerProcess): Promise<void> {
  await quiet([
    {
      ...{ serverCpuMs: () => server.cpuMs(), databaseCpuMs: () => 0 },
      rssBytes: () => server.rssBytes(),
    },
  ])
  await server.stop()
}

try {
  const { cpu, cores, node, postgres } = describeMachine()
  const load = loadavg()[0]?.toFixed(1)
  console.log(`${cpu}, ${cores} cores, load ${load}, Node ${node}, PostgreSQL ${postgres}\n`)
  await play()
} catch (error) {
  process.stderr.write(`${(error as Error).stack}\n`)
  // A failed step may have started work that never ends, such as an app that connects again and again.
  process.exit(1)
}
