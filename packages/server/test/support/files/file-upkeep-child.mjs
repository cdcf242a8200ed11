/** The maintenance of files in a process of its own. Its only argument is JSON: where it works. */
import { keepFilesUp } from './file-upkeep-work.mjs'

process.stdout.write('working\n')
await keepFilesUp(JSON.parse(process.argv[2]))
