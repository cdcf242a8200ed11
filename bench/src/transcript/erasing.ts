/** The erasure of a user with its certificate, and the search for what is left. */
import { writeFileSync } from 'node:fs'
import { runHermod } from '../measure/hermod-command.js'
import { require, type Transcript } from './transcript.js'

/** The user to erase. */
export interface ErasedPerson {
  readonly dataDir: string
  readonly appId: string
  readonly userId: number
  /** Texts of the user, which must not be anywhere afterwards. */
  readonly texts: readonly string[]
  /** The path of the file of the texts, for the check. */
  readonly textsFile: string
}

/** Erases a user of a running service. */
export async function erase(
  transcript: Transcript,
  { dataDir, appId, userId, texts, textsFile }: ErasedPerson,
): Promise<void> {
  const settings = { HERMOD_DATA_DIR: dataDir }
  writeFileSync(textsFile, texts.join('\n'))
  const checkErased = ['check', '--erased', `${userId}`, '--app', appId, '--texts-file', textsFile]
  await transcript.step(
    'hermod check --erased, before the erasure',
    async () => {
      const failure = await runHermod(checkErased, settings).catch((error: Error) => error)
      require(failure instanceof Error, 'the check finds nothing of a user who is there')
      return failure.message.trimEnd().split('\n').at(-1) ?? ''
    },
    (found) => found,
  )
  await transcript.step(
    'hermod user erase --messages delete',
    () =>
      runHermod(
        ['user', 'erase', appId, `${userId}`, '--messages', 'delete', '--reason', 'request 17'],
        settings,
      ),
    ({ out }) => out.trim(),
  )
  await transcript.step(
    'hermod check --erased, with the name and the texts of the user',
    () => runHermod(checkErased, settings),
    ({ out }) => out.trim(),
  )
  await transcript.step(
    'hermod check',
    () => runHermod(['check'], settings),
    ({ out }) => out.trim(),
  )
}
