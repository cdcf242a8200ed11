import { contactFixtures, messageFixtures, pushFixtures } from './walk-fixtures-contacts.js'
import { eventFixtures } from './walk-fixtures-events.js'
import { fileFixtures, groupFixtures } from './walk-fixtures-groups.js'
import { operatorFixtures } from './walk-fixtures-operator.js'
import { userFixtures } from './walk-fixtures-users.js'

/** One for every operation; an operation to come brings its own. */
export const fixtures = [
  ...userFixtures,
  ...contactFixtures,
  ...messageFixtures,
  ...pushFixtures,
  ...groupFixtures,
  ...fileFixtures,
  ...operatorFixtures,
  ...eventFixtures,
]
