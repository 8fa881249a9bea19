CREATE TABLE "tunnel_hours" (
	"tunnel_id" uuid NOT NULL,
	"hour" timestamp(3) with time zone NOT NULL,
	"requests" integer NOT NULL,
	"bytes" bigint NOT NULL,
	CONSTRAINT "tunnel_hours_tunnel_id_hour_pk" PRIMARY KEY("tunnel_id","hour")
);

CREATE TABLE "tunnel_sessions" (
	"tunnel_id" uuid PRIMARY KEY NOT NULL,
	"generation" integer NOT NULL,
	"instance_id" uuid NOT NULL,
	"since" timestamp(3) with time zone NOT NULL,
	"lease_until" timestamp(3) with time zone NOT NULL,
	"last_seen_at" timestamp(3) with time zone NOT NULL,
	"online" boolean NOT NULL,
	"rtt_ms" real,
	"services" jsonb NOT NULL
);

CREATE TABLE "tunnels" (
	"id" uuid PRIMARY KEY NOT NULL,
	"created_at" timestamp(3) with time zone NOT NULL,
	"updated_at" timestamp(3) with time zone NOT NULL,
	"version" integer DEFAULT 1 NOT NULL,
	"deleted_at" timestamp(3) with time zone,
	"organization_id" uuid NOT NULL,
	"owner_id" uuid NOT NULL,
	"name" text NOT NULL,
	"slug" text NOT NULL,
	"access" text NOT NULL,
	"labels" text[] NOT NULL,
	"paused" boolean DEFAULT false NOT NULL,
	"hostname" text,
	"os" text,
	"architecture" text,
	"client_version" text,
	"token_id" uuid,
	"token_hash" text,
	"claimed_at" timestamp(3) with time zone,
	"claim_hash" text,
	"claim_expires_at" timestamp(3) with time zone
);

ALTER TABLE "tunnel_hours" ADD CONSTRAINT "tunnel_hours_tunnel_id_tunnels_id_fk" FOREIGN KEY ("tunnel_id") REFERENCES "public"."tunnels"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "tunnel_sessions" ADD CONSTRAINT "tunnel_sessions_tunnel_id_tunnels_id_fk" FOREIGN KEY ("tunnel_id") REFERENCES "public"."tunnels"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "tunnels" ADD CONSTRAINT "tunnels_organization_id_organizations_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organizations"("id") ON DELETE cascade ON UPDATE no action;
ALTER TABLE "tunnels" ADD CONSTRAINT "tunnels_owner_id_users_id_fk" FOREIGN KEY ("owner_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
CREATE UNIQUE INDEX "tunnels_slug" ON "tunnels" USING btree ("slug") WHERE "tunnels"."deleted_at" is null;
CREATE UNIQUE INDEX "tunnels_token" ON "tunnels" USING btree ("token_hash");
CREATE UNIQUE INDEX "tunnels_token_id" ON "tunnels" USING btree ("token_id");
CREATE UNIQUE INDEX "tunnels_claim" ON "tunnels" USING btree ("claim_hash");
CREATE INDEX "tunnels_organization" ON "tunnels" USING btree ("organization_id","name","id");
CREATE INDEX "tunnels_owner" ON "tunnels" USING btree ("owner_id");
