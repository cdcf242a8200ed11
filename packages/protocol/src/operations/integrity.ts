import { operation } from '../operation.js'
import { CheckReport } from '../resources/operator/integrity.js'
import { boolean, optional } from '../schema.js'
import { operatorOperation, post } from './fields.js'

/**
 * Changes nothing but acknowledged losses. Data that changes during the check can show as a
 * difference once; repeat the check. At most 100 differences of each check are listed.
 */
export const checkIntegrity = operation({
  ...operatorOperation,
  id: 'operator.check',
  methods: post,
  path: '/operator/v1/check',
  summary: 'Checks every derived value against the log that it comes from.',
  body: {
    acknowledge: optional(
      boolean({
        description:
          'true: first acknowledges the lost histories (`lost_history`) that earlier checks have reported, so that they are no fault any more',
      }),
    ),
  },
  data: CheckReport,
})
