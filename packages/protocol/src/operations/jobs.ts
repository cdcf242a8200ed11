import { operation } from '../operation.js'
import { JobList, OperatorJob } from '../resources/operator/jobs.js'
import { get, id, newestFirst, operatorOperation, post } from './fields.js'

const whichJob = { job_id: id('the job') }

/** Operations that take long answer the ID of a job, whose progress and result are here. */
export const listJobs = operation({
  ...operatorOperation,
  id: 'operator.job.list',
  methods: get,
  path: '/operator/v1/job/list',
  summary: 'Lists long jobs.',
  query: newestFirst('jobs'),
  data: JobList,
})

/** Shows the progress of a job, as of the last second. */
export const getJob = operation({
  ...operatorOperation,
  id: 'operator.job.get',
  methods: get,
  path: '/operator/v1/job/get',
  summary: 'Returns a long job with its progress and result.',
  query: whichJob,
  data: OperatorJob,
  errors: ['job_not_found'],
})

/** Does nothing to a job that has ended. The node that runs it ends it within a second. */
export const cancelJob = operation({
  ...operatorOperation,
  id: 'operator.job.cancel',
  methods: post,
  path: '/operator/v1/job/cancel',
  summary: 'Cancels a long job.',
  body: whichJob,
  data: OperatorJob,
  errors: ['job_not_found'],
})
