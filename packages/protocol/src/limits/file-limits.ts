/** No application can allow larger files: the limit of one upload to stores that speak S3. */
export const maxFileBytes = 5 * 2 ** 30
