/** Long jobs, which operations start. */
import { type Json, waitFor } from '@hermod/testkit'
import type { TestServer } from './watched-server.js'

type Operated = Pick<TestServer, 'api' | 'operatorToken'>

/** Starts a job by an operation. @returns the job at its end */
export async function endedJob(server: Operated, path: string, body: object): Promise<Json> {
  const { data } = await server.api.as(server.operatorToken).succeed('POST', path, { body })
  return endOfJob(server, data.job_id)
}

/** Waits for the end of a job, whatever it is. @returns the job */
export async function endOfJob(
  { api, operatorToken }: Operated,
  job_id: number | string,
): Promise<Json> {
  const operator = api.as(operatorToken)
  return waitFor(
    async () => {
      const { data } = await operator.succeed('GET', '/operator/v1/job/get', { query: { job_id } })
      return data.ended_at !== 0 && data
    },
    { what: `the end of the job ${job_id}`, timeoutMs: 60_000, everyMs: 20 },
  )
}
