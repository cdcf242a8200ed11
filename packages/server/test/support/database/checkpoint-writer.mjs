// A process that writes to an embedded database without a pause and says on stdout what is stored:
// `stored <number>` once the transaction of a row is durable, `refused <number>` when it failed,
// and `checkpoints <statistics>` now and then. Arguments: the database file, the first number, the
// limits of checkpoints as JSON.
import { writeSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { sql } from 'kysely'
import { Database } from '../../../dist/db/database.js'
import { sqliteDialect } from '../../../dist/db/dialect/sqlite.js'

const [path, first, limits] = process.argv.slice(2)
const writers = 8
const textLength = 3000
// Spreads the numbers, so that rows go to pages all over the file.
const factor = 2654435761

const dialect = sqliteDialect(path, { checkpoints: JSON.parse(limits) })
const database = new Database(dialect)
await sql`create table if not exists rows (place integer primary key, number integer, text text)`.execute(
  database.writer,
)
let next = Number(first)

async function write() {
  for (;;) {
    const number = next++
    const text = String(number).padEnd(textLength, '.')
    try {
      await database.transaction((tx) =>
        sql`insert into rows values (${(number * factor) % 2 ** 32}, ${number}, ${text})`.execute(
          tx,
        ),
      )
      tell(`stored ${number}`)
    } catch {
      tell(`refused ${number}`)
      await turn()
    }
  }
}

function tell(line) {
  writeSync(1, `${line}\n`)
}

setInterval(() => tell(`checkpoints ${JSON.stringify(dialect.checkpoints())}`), 20)
await Promise.all(Array.from({ length: writers }, write))
