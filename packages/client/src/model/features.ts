/** The key of the record with the names of the features of the service, among the cached reads. */
export const featuresKey = 'features'
