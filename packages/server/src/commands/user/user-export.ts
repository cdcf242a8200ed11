import { once } from 'node:events'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type ExportedUser, exportUsers } from '@hermod/protocol'
import type { Command } from 'commander'
import { definedOnly } from '../../lib/defined-only.js'
import { type CommandContext, type Operate, urlOption } from '../runtime/command.js'
import { commandOf, flag } from '../runtime/fields.js'
import { format, type UserFormat, writers } from './user-file.js'
import { app_id } from './which-user.js'

const fields = {
  app_id,
  format,
  hashes: flag(
    '--hashes',
    'with the hashes of the passwords, so that the passwords go on working; keep such a file secret',
  ),
}

export function addUserExportCommand(user: Command, context: CommandContext): void {
  const command = user
    .command('export')
    .description(
      'Writes all users of an application to standard output, as hermod user import reads them.',
    )
  commandOf(
    command,
    context,
    fields,
    async ({ app_id, format = 'ndjson', hashes = false }, options) => {
      await context.session(options, async (operate) => {
        const text = exportedText(pagesOf(operate, app_id, hashes), format, hashes)
        const { stdout } = context.dependencies
        await pipeline(Readable.from(text), stdout, { end: false })
        if (stdout.writableNeedDrain) await once(stdout, 'drain')
      })
    },
  ).addOption(urlOption())
}

async function* pagesOf(
  operate: Operate,
  appId: string,
  hashes: boolean,
): AsyncGenerator<readonly ExportedUser[]> {
  let cursor: string | undefined
  do {
    const page = await operate(
      exportUsers,
      definedOnly({ app_id: appId, cursor, include_hashes: hashes }),
    )
    yield page.users
    cursor = page.next_cursor
  } while (cursor !== '')
}

async function* exportedText(
  pages: AsyncIterable<readonly ExportedUser[]>,
  format: UserFormat,
  hashes: boolean,
): AsyncGenerator<string> {
  const { header, line } = writers[format]
  yield header(hashes)
  for await (const users of pages) yield users.map((user) => line(user, hashes)).join('')
}
