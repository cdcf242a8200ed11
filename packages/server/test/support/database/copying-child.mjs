/** Copies the database that its argument names, again and again, until it is killed. */
import { copyDatabase } from '../../../dist/db/migrations/database-copies.js'

process.stdout.write('begins\n')
for (;;) await copyDatabase(process.argv[2], '9.0.0')
