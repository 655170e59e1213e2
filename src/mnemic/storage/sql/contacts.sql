-- Who has an address? For the owner's login: the policies show the service nobody's profile but the asker's.

-- name: holders
select user_id, updated_at
from user_profile
where email_mac = %(email)s or phone_mac = %(phone)s
order by user_id
