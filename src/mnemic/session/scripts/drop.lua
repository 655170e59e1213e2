-- No window any more. Answers how many there were.
return redis.call('UNLINK', key)
