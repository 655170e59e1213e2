-- Who names no project has no role in one, and no statement of theirs asks for it: my_role() becomes a part of the
-- statements that the policies stand in, and looks at the members only where there is a project.
do $$
declare
    service name := current_setting('mnemic.service_role');
    place name := current_schema();
begin
    -- The role of this transaction's user in its project, null without one. As the owner, for it reads the members
    -- before anybody may see them; what it tells is the asker's own role.
    execute format($create$
        create function member_role() returns text
            language sql stable security definer parallel safe set search_path = %I, pg_temp
        as $body$
            select role from project_member
            where scope_key = current_setting('mnemic.project', true)
              and user_id = current_setting('mnemic.actor', true)
        $body$ $create$, place);
    revoke all on function member_role() from public;
    execute format('grant execute on function member_role() to %I', service);
end $$;

create or replace function my_role() returns text
    language sql stable parallel safe
    return case when current_setting('mnemic.project', true) <> '' then member_role() end;
