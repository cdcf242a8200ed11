/** A backup under load, the loss of the machine, and a restore in another folder. */
import { cpSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type ServerProcess, startServer } from '@hermod/testkit'
import { LoadProcess } from '../load/processes.js'
import { hermodJson, runHermod } from '../measure/hermod-command.js'
import { portOf } from '../measure/build.js'
import { rateOf } from '../measure/measure.js'
import { runsDuring } from '../measure/runs-during.js'
import { sum } from '../measure/statistics.js'
import { type Installation, sendText } from './installation.js'
import { require, type Transcript } from './transcript.js'

const connections = 64
const loadMs = 2_000
const warmUpMs = 1_000
const mebibyte = 2 ** 20

/** Folders of the run. */
export interface Places {
  readonly backups: string
  /** A copy of the secret key, apart from the backups. */
  readonly keyFile: string
  readonly restored: string
}

/** The job of a backup. */
interface BackupJob {
  readonly result: {
    readonly name: string
    readonly database_bytes: number
    readonly files: number
    readonly file_bytes: number
  }
}

/** Loses the installation. @returns the service on the restored folder */
export async function loseAndRestore(
  transcript: Transcript,
  installation: Installation,
  { backups, keyFile, restored }: Places,
): Promise<ServerProcess> {
  const { server, app, person, peers } = installation
  const { dataDir, url, adminToken, operatorToken, appId, api } = server.process
  const settings = { HERMOD_DATA_DIR: restored }

  app.open()
  await transcript.step(
    'the app of a user connects; its store is durable',
    () => app.settled(api.as(person.token), peers),
    (messages) => `${messages} messages in its store equal the answers over HTTP`,
  )
  const backup = await transcript.step(
    'hermod backup create, while 64 connections send',
    () => backUpUnderLoad(installation, backups, dataDir),
    ({ text, alone, during }) =>
      `${text}\nsends a second: ${alone.toFixed(0)} before, ${during.toFixed(0)} during the backup`,
  )
  await transcript.step(
    'messages after the backup, which the app gets',
    async () => {
      for (const peer of peers)
        await sendText(api, { from: peer, to: person.id, text: 'after the backup' })
      return app.settled(api.as(person.token), peers)
    },
    (messages) => `${messages} messages in its store equal the answers over HTTP`,
  )
  cpSync(join(dataDir, 'secret.key'), keyFile)
  const texts = peers.map((_, index) => `written without the service ${index}`)
  await transcript.step(
    'kill -9, and the data folder is removed; the app writes a message to each of five, and is closed',
    async () => {
      await server.process.kill9()
      rmSync(dataDir, { recursive: true })
      for (const [index, peer] of peers.entries()) await app.send(peer, texts[index] as string)
      const unsent = app.unsent(peers)
      await app.close()
      require(unsent.length === texts.length, `the app has ${unsent.length} unsent messages`)
      return unsent.length
    },
    (unsent) => `${unsent} unsent messages in the store`,
  )
  await transcript.step(
    'hermod restore, into another folder',
    () => runHermod(['restore', backup.folder, '--to', restored, '--key-file', keyFile], {}),
    ({ out, peakBytes }) => `${out.split('\n').slice(0, 2).join('\n')}\n${memory(peakBytes)}`,
  )
  const again = await transcript.step(
    'the service starts on it; the app opens, and gets nothing yet',
    async () => {
      const port = portOf(server)
      const started = await startServer({
        ...{ dataDir: restored, port, appId, adminToken, operatorToken, startedAt: '/healthz' },
      })
      app.open()
      const { status } = await started.api.as(person.token).call('GET', '/user/profile')
      require(status === 503, `a call of a user answers ${status} before the end of the restore`)
      require(started.url === url, 'the address has changed')
      return started
    },
    () => 'calls of users answer 503',
  )
  await transcript.step(
    'hermod check',
    () => runHermod(['check'], settings),
    ({ out }) => out.trim(),
  )
  await transcript.step(
    'hermod restore finish',
    () => runHermod(['restore', 'finish'], settings),
    ({ out }) => out.trim(),
  )
  await transcript.step(
    'the app reconciles: it drops what the service does not know, and sends what was unsent',
    async () => {
      const messages = await app.settled(again.api.as(person.token), peers)
      await requireOnce(again, { user: person.id, peers, texts })
      return messages
    },
    (messages) =>
      `${messages} messages in its store equal the answers over HTTP; each of the ${texts.length} is stored once`,
  )
  await app.close()
  return again
}

async function backUpUnderLoad(
  { population }: Installation,
  backups: string,
  dataDir: string,
): Promise<{ folder: string; text: string; alone: number; during: number }> {
  using load = new LoadProcess()
  const send = (warmUp: number) =>
    load.run({
      ...{ port: population.port, plan: population.sendPlan(), connections, minBodyBytes: 0 },
      ...{ warmUpMs: warmUp, measureMs: loadMs },
    })
  const before = await send(warmUpMs)
  const settings = { HERMOD_DATA_DIR: dataDir }
  const { result: backup, runs } = await runsDuring(
    hermodJson<BackupJob>(['backup', 'create', '--to', backups], settings),
    () => send(0),
  )
  const samples = runs.flatMap(({ errorSamples }) => errorSamples)
  require(runs.every(
    ({ errors }) => errors === 0,
  ), `sends fail during the backup: ${samples.join()}`)
  const { name, database_bytes, files, file_bytes } = backup.json.result
  const folder = join(backups, name)
  require(existsSync(join(folder, 'COMPLETE')), `${folder} is not complete`)
  const text = `${name}: a database of ${mebibytes(database_bytes)}, ${files} files of ${mebibytes(file_bytes)}`
  const during =
    sum(runs.map(({ succeeded }) => succeeded)) / sum(runs.map(({ seconds }) => seconds))
  return { folder, text, alone: rateOf(before), during }
}

/** Each text is in the conversation with its peer once, with the answers of the service. */
async function requireOnce(
  { api }: ServerProcess,
  sent: {
    readonly user: number
    readonly peers: readonly number[]
    readonly texts: readonly string[]
  },
): Promise<void> {
  for (const [index, peer] of sent.peers.entries()) {
    const query = { opposite_id: peer, msg_id_start: 0, limit: 100 }
    const { data } = await api
      .admin({ userId: sent.user })
      .succeed('GET', '/message/conversation', { query })
    const contents: string[] = data.messages.map(({ content }: { content: string }) => content)
    const count = contents.filter((content) => content === sent.texts[index]).length
    require(count === 1, `"${sent.texts[index]}" is stored ${count} times`)
    require(!contents.includes('after the backup'), 'a message after the backup is there')
  }
}

function mebibytes(bytes: number): string {
  return `${(bytes / mebibyte).toFixed(0)} MiB`
}

/** The memory of a command at its largest. */
export function memory(peakBytes: number): string {
  return `at most ${mebibytes(peakBytes)} of memory`
}
