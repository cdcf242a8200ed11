import { cancelJob, getJob, listJobs, type OperatorJob } from '@hermod/protocol'
import type { Command } from 'commander'
import { type CommandContext, parseId } from './runtime/command.js'
import { argument, moreText, operationCommand, page } from './runtime/fields.js'
import { formatTable, type OutputRow, record } from './runtime/output.js'

const whichJob = { job_id: argument('<job_id>', 'the job, as hermod job list shows it', parseId) }

export function addJobCommands(program: Command, context: CommandContext): void {
  const job = program.command('job').description('Shows and cancels long jobs, such as backups.')

  operationCommand(job, context, {
    name: 'list',
    description: 'Lists the jobs of the last 30 days, newest first (default).',
    operation: listJobs,
    fields: page,
    isDefault: true,
    text: (found) => formatTable(found.jobs.map(briefJob), 'There are no jobs.') + moreText(found),
  })
  operationCommand(job, context, {
    name: 'show',
    description: 'Shows a job with its progress and its result.',
    operation: getJob,
    fields: whichJob,
    text: (found) => record({ ...found, progress: progressOf(found) }),
  })
  operationCommand(job, context, {
    name: 'cancel',
    description: 'Cancels a job, which then ends within a second or when it has cleaned up.',
    operation: cancelJob,
    fields: whichJob,
    text: ({ job_id, ended_at, state }) =>
      ended_at === 0 ? `The job ${job_id} ends soon.` : `The job ${job_id} is ${state}.`,
  })
}

/** One line of a table. */
function briefJob(job: OperatorJob): OutputRow {
  const { job_id, kind, state, text, created_at, ended_at, error } = job
  const detail = (error === '' ? text : error).replace(/\s+/g, ' ').slice(0, 100)
  return { job_id, kind, state, progress: progressOf(job), created_at, ended_at, detail }
}

function progressOf({ state, done, total }: OperatorJob): string {
  if (state === 'done') return '100 %'
  return total === 0 ? '' : `${Math.floor((Number(done) / Number(total)) * 100)} %`
}
