/** A move to PostgreSQL and back, with the digests of each. */
import { cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { PostgresCluster } from '@hermod/testkit'
import { hermodJson, runHermod, type Settings } from '../measure/hermod-command.js'
import { memory } from './recovery.js'
import { require, type Transcript } from './transcript.js'

type Digest = Readonly<Record<string, { readonly count: number; readonly sum: string }>>

const shownTypes = ['messages', 'users', 'files']

/** @param folder of a service that has stopped @returns the folder with the data that came back */
export async function moveThereAndBack(
  transcript: Transcript,
  folder: string,
  parent: string,
): Promise<string> {
  await using cluster = await PostgresCluster.start()
  await using database = await cluster.createDatabase()
  const source = { HERMOD_DATA_DIR: folder }
  const middle = {
    HERMOD_DATA_DIR: newFolder(folder, join(parent, 'postgres')),
    HERMOD_DATABASE_URL: database.url,
  }
  const back = { HERMOD_DATA_DIR: newFolder(folder, join(parent, 'back')) }
  const first = await digest(transcript, source)
  await move(transcript, { from: source, to: middle, by: join(parent, 'export-1') }, 'PostgreSQL')
  const second = await digest(transcript, middle)
  await move(transcript, { from: middle, to: back, by: join(parent, 'export-2') }, 'SQLite')
  const third = await digest(transcript, back)
  await transcript.step(
    'the three digests',
    async () => {
      const text = JSON.stringify(first)
      require(text === JSON.stringify(second), 'the digest in PostgreSQL differs')
      require(text === JSON.stringify(third), 'the digest after the way back differs')
    },
    () => `equal in all ${Object.keys(first).length} types`,
  )
  return back.HERMOD_DATA_DIR
}

/** An empty data folder with the secret key. */
function newFolder(of: string, folder: string): string {
  mkdirSync(folder, { mode: 0o700 })
  cpSync(join(of, 'secret.key'), join(folder, 'secret.key'))
  return folder
}

async function digest(transcript: Transcript, settings: Settings): Promise<Digest> {
  const { json } = await transcript.step(
    'hermod digest',
    () => hermodJson<Digest>(['digest'], settings),
    (run) =>
      [
        ...shownTypes.map((type) => {
          const { count = 0, sum = '' } = run.json[type] ?? {}
          return `${type} ${count} ${sum.slice(0, 16)}…`
        }),
        memory(run.peakBytes),
      ].join('\n'),
  )
  return json
}

async function move(
  transcript: Transcript,
  { from, to, by }: { readonly from: Settings; readonly to: Settings; readonly by: string },
  engine: string,
): Promise<void> {
  const firstLine = (text: string) => text.split('\n')[0] ?? ''
  await transcript.step(
    'hermod export --move',
    () => runHermod(['export', '--move', '--to', by], from),
    ({ out, peakBytes }) => `${firstLine(out)}\n${memory(peakBytes)}`,
  )
  await transcript.step(
    `hermod import, into ${engine}`,
    () => runHermod(['import', by], to),
    ({ out, peakBytes }) => `${firstLine(out)}\n${memory(peakBytes)}`,
  )
}
